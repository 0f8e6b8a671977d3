#include "data/corpus.h"

#include "autograd/utf8.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::data;

TEST_CASE("the built-in corpus is Reel's source, each file under its name") {
  std::string_view corpus = builtin_corpus();
  CHECK(corpus.size() > 100'000);
  CHECK(corpus.find("// data/corpus.h\n\n#pragma once\n") != corpus.npos);
  CHECK(corpus.find("// autograd/random.cpp\n\n#include \"autograd/random.h\"\n") != corpus.npos);
}

TEST_CASE("the built-in corpus is plain text") {
  std::u32string characters = decode_utf8(builtin_corpus());
  CHECK(characters.find(U'\r') == characters.npos);
  CHECK(characters.find(U'\uFEFF') == characters.npos);
  CHECK(characters.find(U'\0') == characters.npos);
}
