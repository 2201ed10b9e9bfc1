"""A recipe for Conan 2 of the sources that it lies in: conan create cmake/packaging/conan --build=missing"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

# What may be left out, and what it takes.
PARTS = {
    "arrow": ["arrow/[>=21]"],
    "images": ["libpng/[>=1.6 <2]", "libjpeg-turbo/[>=2.1 <4]"],
    "net": ["asio/[>=1.22 <2]", "cli11/[>=2.1 <3]", "openssl/[>=3 <4]"],
    "re2": ["re2/[>=20220601]"],
    "zstd": ["zstd/[>=1.5 <2]"],
}


class Tenon(ConanFile):
    name = "tenon"
    description = "Typed lazy tensors for C++20"
    license = "MIT"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], **{part: [True, False] for part in PARTS}}
    default_options = {"shared": False, "fPIC": True, "arrow": False, "images": True, "net": True, "re2": True, "zstd": True}
    implements = ["auto_shared_fpic"]

    def _sources(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", "..", ".."))

    def set_version(self):
        text = load(self, os.path.join(self._sources(), "include", "tenon", "core", "config.hpp"))
        self.version = ".".join(re.findall(r"define TENON_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "net/*", "cuda/CMakeLists.txt"):
            copy(self, pattern, self._sources(), self.export_sources_folder)

    def requirements(self):
        for package in ("eigen/[>=3.4 <4]", "nlohmann_json/[>=3.10 <4]", "zlib/[>=1.2.11 <2]"):
            self.requires(package)
        for part, packages in PARTS.items():
            for package in packages if self.options.get_safe(part) else []:
                self.requires(package)

    def configure(self):
        if self.options.arrow:
            self.options["arrow"].parquet = True

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name, part in (("ARROW", "arrow"), ("PNG", "images"), ("JPEG", "images"), ("NET", "net"), ("RE2", "re2"), ("ZSTD", "zstd")):
            toolchain.cache_variables["TENON_WITH_" + name] = bool(self.options.get_safe(part))
        for name in ("TENON_WITH_ONEDNN", "TENON_WITH_LIBXSMM", "TENON_WITH_CUDA", "TENON_BUILD_TESTS", "TENON_BUILD_EXAMPLES"):
            toolchain.cache_variables[name] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # its own tenon-config.cmake is found
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "tenon")]
