#!/usr/bin/env bash
# Compares tn::json_tokenizer with Hugging Face's package on files and texts that this makes. Ends with 77 where it is not there.
#
#   json_tokenizer.sh TEST_IO
. "$(dirname "${BASH_SOURCE[0]}")/../../with_python.sh" tokenizers tokenizers tokenizers
PYTHONDONTWRITEBYTECODE=1 "$python" -P "$here/json_tokenizer.py" "$folder"
TENON_TOKENIZERS=$folder "$1" --test-case="tokens are those of Hugging Face's package"
