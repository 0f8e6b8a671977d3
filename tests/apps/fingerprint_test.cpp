#include "apps/training/fingerprint.h"

#include <set>

#include "tests/catch.h"

using reel::apps::Fingerprint;

TEST_CASE("a fingerprint tells where each text ends", "[fingerprint]") {
  using Texts = std::vector<std::vector<std::int32_t>>;
  std::set<std::uint32_t> seen;
  const std::vector<Texts> different{{},          {{}},        {{}, {}}, {{1, 2, 3}}, {{1, 2}, {3}}, {{1}, {2, 3}},
                                     {{1, 3, 2}}, {{-1, 2, 3}}};
  for (const Texts& texts : different) CHECK(seen.insert(Fingerprint().add(texts).value()).second);
  const Texts first{{1, 2}}, second{{3}}, both{{1, 2}, {3}};
  CHECK(Fingerprint().add(first).add(second).value() == Fingerprint().add(both).value());
  CHECK(Fingerprint().add(both).value() == 0x33ea6049);  // or no earlier run could be resumed
}
