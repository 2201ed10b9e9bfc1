# Trains byte-pair tokenisers with Hugging Face's package and writes their files, texts of all scripts, and what the package makes of
# them, for test/io/text/json_tokenizer.cpp:
#
#   json_tokenizer.py FOLDER [SEED]
#
# In FOLDER/NAME/cases a line each: a text, its tokens, its tokens without those around it, what these are again, and what all of them
# are with the special ones; texts are hexadecimal.
import json
import os
import random
import sys
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

folder = sys.argv[1]
draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)

blocks = [(0x20, 0x7E)] * 12 + [(0xA0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x5D0, 0x5EA), (0x620, 0x6FF), (0x900, 0x97F)]
blocks += [(0xE01, 0xE5B), (0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x2150, 0x218F), (0x3000, 0x30FF), (0x4E00, 0x9FCC)]
blocks += [(0xAC00, 0xD7A3), (0x1F300, 0x1F64F), (0x10400, 0x1044F), (0x0, 0x1F), (0x2460, 0x24FF), (0x300, 0x36F), (0x1D400, 0x1D7FF)]
blanks = [" ", "  ", "   ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2003", "\v", "\u0085", " \n ", "\n\n  "]
english = "the cat sat on a mat; don't they've we'll I'M SHE'LL it's 12 3456 x_1 f(x) == 0x1F, e.g. https://a.b/c?d=%20 naïve über łódź".split()


def word():
    if draw.random() < 0.4:
        return draw.choice(english)
    low, high = draw.choice(blocks)
    all = [chr(draw.randint(low, high)) for _ in range(draw.randint(1, 7))]
    return "".join(c for c in all if unicodedata.category(c) not in ("Cn", "Cs"))


def text(extra=()):
    parts = []
    for _ in range(draw.randint(0, 12)):
        parts.append(draw.choice(extra) if extra and draw.random() < 0.15 else word())
        if draw.random() < 0.8:
            parts.append(draw.choice(blanks) if draw.random() < 0.3 else " ")
    return "".join(parts)


corpus = [text() for _ in range(3000)]
llama3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
qwen2 = llama3.replace("{1,3}", "")
letters = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
o200k = "|".join(
    [r"[^\r\n\p{L}\p{N}]?" + letters, r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"]
)
behind_first = r"\s+(?!\S)|\d+|\S"  # a single blank before something is none of these


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(pattern, behavior, invert)


def bytes_of(prefix=False, regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


steps = {
    "gpt2": [bytes_of(regex=True)],
    "roberta": [bytes_of(prefix=True, regex=True)],
    "llama3": [split(Regex(llama3)), bytes_of()],
    "qwen2": [split(Regex(qwen2)), bytes_of()],
    "o200k": [split(Regex(o200k), "removed", True), bytes_of()],
    "starcoder": [pre_tokenizers.Digits(individual_digits=True), bytes_of(regex=True)],
    "digits": [pre_tokenizers.Digits(individual_digits=False), bytes_of(prefix=True)],
    "ahead": [split(Regex(behind_first)), bytes_of()],
    "previous": [split(" ", "merged_with_previous"), split(Regex(r"[\p{Han}\d]"), "merged_with_next"), bytes_of()],
    "contiguous": [split(Regex(r"[^\S ]"), "contiguous"), bytes_of(prefix=True)],
    "removed": [split(Regex(r"\s"), "removed"), split("e", "merged_with_next", True), bytes_of(regex=True)],
    "unknown": [bytes_of(regex=True)],
}
special = ["<|begin|>", "<|end|>", "<|end|>>", "<s>", "</s>"]

for name, pre in steps.items():
    model = models.BPE(unk_token="<s>") if name == "unknown" else models.BPE()
    t = Tokenizer(model)
    t.pre_tokenizer = pre[0] if len(pre) == 1 else pre_tokenizers.Sequence(pre)
    t.decoder = decoders.ByteLevel()
    alphabet = [] if name == "unknown" else pre_tokenizers.ByteLevel.alphabet()
    limit = {"limit_alphabet": 90} if name == "unknown" else {}
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=1500, special_tokens=special, initial_alphabet=alphabet, show_progress=False, **limit))
    extra = list(special)
    if name in ("roberta", "starcoder", "previous"):
        t.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("<right>", rstrip=True, normalized=False)])
        t.add_tokens([AddedToken("th", normalized=True), AddedToken("  ", normalized=False), AddedToken("über", lstrip=True, rstrip=True)])
        extra += ["<mask>", "<right>", "  <mask>  <right>  "]
    begin, end = t.token_to_id("<|begin|>"), t.token_to_id("<|end|>")
    if name == "roberta":
        t.post_processor = processors.RobertaProcessing(("<|end|>", end), ("<|begin|>", begin))
    elif name in ("llama3", "digits"):
        template = processors.TemplateProcessing(single="<|begin|> $A <|end|> <|end|>", special_tokens=[("<|begin|>", begin), ("<|end|>", end)])
        t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    place = os.path.join(folder, name)
    os.makedirs(place)
    path = os.path.join(place, "tokenizer.json")
    t.save(path)
    if name in ("llama3", "qwen2"):  # what the trainer does not say
        said = json.load(open(path))
        said["model"]["ignore_merges"] = name == "llama3"
        said["model"]["merges"] = [m if name == "llama3" else " ".join(m) for m in said["model"]["merges"]]
        json.dump(said, open(path, "w"))
        t = Tokenizer.from_file(path)
    with open(os.path.join(place, "cases"), "w") as f:
        for i in range(400):
            x = "" if i == 0 else text(extra)
            tokens, plain = t.encode(x).ids, t.encode(x, add_special_tokens=False).ids
            again, all = t.decode(plain), t.decode(tokens, skip_special_tokens=False)
            f.write("|".join([x.encode().hex(), " ".join(map(str, tokens)), " ".join(map(str, plain)), again.encode().hex(), all.encode().hex()]) + "\n")
