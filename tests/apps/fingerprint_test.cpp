#include "apps/training/fingerprint.h"

#include <set>

#include "tests/catch.h"

using reel::apps::fingerprint;

TEST_CASE("a fingerprint tells where each text ends", "[fingerprint]") {
  using Texts = std::vector<std::vector<std::int32_t>>;
  std::set<std::uint32_t> seen;
  const std::vector<Texts> different{{},          {{}},        {{}, {}}, {{1, 2, 3}}, {{1, 2}, {3}}, {{1}, {2, 3}},
                                     {{1, 3, 2}}, {{-1, 2, 3}}};
  for (const Texts& texts : different) CHECK(seen.insert(fingerprint(texts, 0)).second);
  const Texts first{{1, 2}}, second{{3}}, both{{1, 2}, {3}};
  CHECK(fingerprint(second, fingerprint(first, 0)) == fingerprint(both, 0));
}
