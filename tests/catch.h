#pragma once
// Catch2 under one name: version 2 is a single header, version 3 a library of several.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
#else
#include <catch2/catch.hpp>
using Catch::Matchers::EndsWith;
inline auto ContainsSubstring(const std::string& part) { return Catch::Matchers::Contains(part); }
#endif
