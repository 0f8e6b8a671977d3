// The script apps/fetch, with files of a folder in the place of what is published, and without network.

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace fs = std::filesystem;

namespace {

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

bool has_command(const std::string& name) { return std::system(("command -v " + name + " >/dev/null").c_str()) == 0; }

const std::string shakespeare_sum = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed";
const std::string enwik8_sum = "547994d9980ebed1288380d652999f38a14fe291a6247c157c3d33d4932534bc";
const std::string imdb_sum = "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe";

/// A zip archive that stores "<mediawiki>\n" as enwik8.
const std::string zip(
    "PK\003\004\024\000\000\000\000\000\000\000c4\003\337\246\255\014\000\000\000\014\000\000"
    "\000\006\000\000\000enwik8<mediawiki>\012PK\001\002\024\003\024\000\000\000\000\000\000"
    "\000c4\003\337\246\255\014\000\000\000\014\000\000\000\006\000\000\000\000\000\000\000\000"
    "\000\000\000\244\001\000\000\000\000enwik8PK\005\006\000\000\000\000\001\000\001\0004\000"
    "\000\0000\000\000\000\000\000",
    122);

/// A repository with nothing but the script, and a mirror to download from.
class Place : public TemporaryFolder {
 public:
  Place() {
    for (const char* script : {"fetch", "setup.sh"}) {
      fs::create_directories(*this / "apps");
      fs::copy(fs::path(REEL_SOURCE_DIR) / "apps" / script, *this / "apps" / script);
    }
    fs::create_directory(*this / "mirror");
  }

  Outcome shell(const std::string& command) const {
    const std::string script = "cd '" + path().string() + "' && export REEL_MIRROR=\"file://$PWD/mirror\" && { " +
                               command + "\n} >out.log 2>err.log";
    const int status = std::system(script.c_str());
    REQUIRE(status != -1);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(*this / "out.log"), read_file(*this / "err.log")};
  }
  Outcome fetch(const std::string& arguments) const { return shell("apps/fetch " + arguments); }

  /// The script expects `sum` of a published file; from now on it is that of `file` in the mirror.
  void expect(const std::string& file, const std::string& sum) const {
    REQUIRE(count_in_script(sum) == 1);
    REQUIRE(shell("sum=$(sha256sum <mirror/" + file + ") && sed -i \"s/" + sum + "/${sum%% *}/\" apps/fetch").status ==
            0);
    REQUIRE(count_in_script(sum) == 0);
  }

  void publish_shakespeare() const {
    write_file(*this / "mirror/input.txt", "First Citizen:\n");
    expect("input.txt", shakespeare_sum);
  }

  /// Whether nothing is left of a download.
  bool is_clean() const { return !fs::exists(*this / "data-sets") || fs::is_empty(*this / "data-sets"); }

 private:
  int count_in_script(const std::string& part) const {
    const std::string script = read_file(*this / "apps/fetch");
    int count = 0;
    for (std::size_t at = script.find(part); at != std::string::npos; at = script.find(part, at + 1)) ++count;
    return count;
  }
};

}  // namespace

#define NEEDS(command)                                                \
  if (!has_command(command)) {                                        \
    WARN("not tested: apps/fetch, for there is no " command " here"); \
    return;                                                           \
  }

TEST_CASE("fetch downloads, checks, and says how to train", "[fetch]") {
  NEEDS("curl");
  Place here;
  here.publish_shakespeare();
  const Outcome first = here.fetch("shakespeare");
  CAPTURE(first.err);
  REQUIRE(first.status == 0);
  CHECK(first.err.empty());
  CHECK_THAT(first.out, ContainsSubstring("mirror/input.txt\nshakespeare is in data-sets/shakespeare.\n"));
  CHECK_THAT(first.out, ContainsSubstring("  build/release/bin/generate train --data data-sets/shakespeare/input.txt "
                                          "-N 2000 -b 12 ") &&
                            ContainsSubstring(" --out runs/shakespeare\n"));
  CHECK(read_file(here / "data-sets/shakespeare/input.txt") == "First Citizen:\n");
  CHECK(here.shell("ls -A data-sets data-sets/shakespeare").out ==
        "data-sets:\nshakespeare\n\ndata-sets/shakespeare:\ninput.txt\n");

  fs::remove_all(here / "mirror");
  const Outcome second = here.fetch("shakespeare");
  CHECK(second.status == 0);
  CHECK(second.out.starts_with("data-sets/shakespeare has it already.\nTo train on it:\n"));
}

TEST_CASE("fetch takes a folder, from wherever it is called", "[fetch]") {
  NEEDS("curl");
  Place here;
  here.publish_shakespeare();
  fs::create_directory(here / "elsewhere");
  const Outcome fetched = here.shell("cd elsewhere && ../apps/fetch shakespeare 'my plays/new'");
  CHECK(fetched.status == 0);
  CHECK(read_file(here / "elsewhere/my plays/new/input.txt") == "First Citizen:\n");
  CHECK_THAT(fetched.out, ContainsSubstring("/elsewhere/my\\ plays/new/input.txt -N 2000 "));
  const Outcome marked = here.shell("apps/fetch shakespeare 'a&b c'");
  CHECK_THAT(marked.out, ContainsSubstring("/a\\&b\\ c/input.txt "));
  CHECK(here.shell("mkdir empty && apps/fetch shakespeare empty && ls empty").out.ends_with("\ninput.txt\n"));
}

TEST_CASE("fetch keeps nothing that is not what was published", "[fetch]") {
  NEEDS("curl");
  Place here;
  write_file(here / "mirror/input.txt", "Fifth Citizen:\n");
  const Outcome fetched = here.fetch("shakespeare");
  CHECK(fetched.status == 1);
  CHECK_THAT(fetched.err, ContainsSubstring("input.txt is not what it should be"));
  CHECK_THAT(fetched.err, ContainsSubstring("should be:   " + shakespeare_sum));
  CHECK(here.is_clean());
}

TEST_CASE("fetch says that it is offline, and what to do", "[fetch]") {
  NEEDS("curl");
  Place here;
  const Outcome offline = here.shell("no_proxy=127.0.0.1 REEL_MIRROR=http://127.0.0.1:1 apps/fetch imdb");
  CHECK(offline.status == 1);
  CHECK_THAT(offline.err,
             ContainsSubstring("cannot reach http://127.0.0.1:1/aclImdb_v1.tar.gz; is this machine online?"));
  CHECK_THAT(offline.err, ContainsSubstring("\n  https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz\n"));
  CHECK_THAT(offline.err, ContainsSubstring("download these on a machine that is online:\n  https://") &&
                              ContainsSubstring("REEL_MIRROR=file:///FOLDER apps/fetch imdb"));
  CHECK(here.is_clean());

  const Outcome missing = here.fetch("imdb");
  CHECK(missing.status == 1);
  CHECK_THAT(missing.err, ContainsSubstring("mirror/aclImdb_v1.tar.gz\nNothing was kept."));
  CHECK(here.is_clean());
}

TEST_CASE("an interrupted fetch leaves nothing", "[fetch]") {
  Place here;
  const Outcome fetched = here.shell(R"(mkdir bin && cat >bin/curl <<'END'
#!/bin/sh
while [ "$1" != --output ]; do shift; done
echo half >"$2"
kill -TERM "$PPID"
END
chmod +x bin/curl && PATH=$PWD/bin:$PATH apps/fetch shakespeare)");
  CHECK(fetched.status == 143);
  CHECK(here.is_clean());
}

TEST_CASE("fetch unpacks pairs of sentences, all or none", "[fetch]") {
  NEEDS("curl");
  Place here;
  const std::pair<const char*, const char*> files[] = {
      {"train.en", "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"},
      {"train.de", "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"},
      {"val.en", "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"},
      {"val.de", "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"},
      {"test_2016_flickr.en", "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"},
      {"test_2016_flickr.de", "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"}};
  for (const auto& [file, sum] : files) {
    CHECK(here.fetch("multi30k").status == 1);
    CHECK(here.is_clean());
    write_file(here / "mirror" / file, std::string(file) + "\n");
    REQUIRE(here.shell(std::string("gzip mirror/") + file).status == 0);
    here.expect(std::string(file) + ".gz", sum);
  }
  const Outcome fetched = here.fetch("multi30k");
  CAPTURE(fetched.err);
  CHECK(fetched.status == 0);
  CHECK_THAT(fetched.out, ContainsSubstring("/translate train --data data-sets/multi30k --positions learned "));
  for (const auto& [file, sum] : files)
    CHECK(read_file(here / "data-sets/multi30k" / file) == std::string(file) + "\n");
}

TEST_CASE("fetch unpacks the reviews that have a label", "[fetch]") {
  NEEDS("curl");
  Place here;
  for (const char* review : {"train/pos/0_9", "train/neg/0_2", "train/unsup/0_0", "test/pos/0_9", "test/neg/0_2"}) {
    const fs::path file = here / "aclImdb" / (std::string(review) + ".txt");
    fs::create_directories(file.parent_path());
    write_file(file, review);
  }
  REQUIRE(here.shell("tar -czf mirror/aclImdb_v1.tar.gz aclImdb").status == 0);
  here.expect("aclImdb_v1.tar.gz", imdb_sum);
  CHECK(here.fetch("imdb").status == 0);
  CHECK(read_file(here / "data-sets/imdb/train/pos/0_9.txt") == "train/pos/0_9");
  CHECK(read_file(here / "data-sets/imdb/test/neg/0_2.txt") == "test/neg/0_2");
  CHECK(!fs::exists(here / "data-sets/imdb/train/unsup"));
}

TEST_CASE("fetch unpacks a zip archive", "[fetch]") {
  NEEDS("curl");
  NEEDS("unzip");
  Place here;
  write_file(here / "mirror/enwik8.zip", zip);
  here.expect("enwik8.zip", enwik8_sum);
  const Outcome fetched = here.fetch("enwik8");
  CHECK(fetched.status == 0);
  CHECK(read_file(here / "data-sets/enwik8/enwik8") == "<mediawiki>\n");
}

TEST_CASE("fetch leaves a folder of something else alone", "[fetch]") {
  Place here;
  fs::create_directories(here / "data-sets/imdb/train");
  write_file(here / "data-sets/imdb/notes", "mine");
  const Outcome fetched = here.fetch("imdb");
  CHECK(fetched.status == 1);
  CHECK_THAT(fetched.err, ContainsSubstring("data-sets/imdb is there, but is not imdb, or not all of it"));
  CHECK(read_file(here / "data-sets/imdb/notes") == "mine");
}

TEST_CASE("fetch explains itself", "[fetch]") {
  Place here;
  CHECK(here.fetch("--help").status == 0);
  CHECK(here.fetch("--help").out.starts_with("usage: apps/fetch shakespeare|enwik8|imdb|multi30k [DIR]\n"));
  CHECK(here.fetch("").status == 2);
  CHECK(here.fetch("").err == here.fetch("-h").out);
  CHECK(here.fetch("mnist").status == 2);
  CHECK_THAT(here.fetch("mnist").err, ContainsSubstring("no data set 'mnist'; choose"));
  CHECK(here.fetch("imdb one two").status == 2);
  CHECK(here.is_clean());
}
