// The package as users meet it: built by tools/make-deb, installed, upgraded, removed and purged in
// a throw-away copy of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "support/child_process.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

const std::string kRoot = in_tree("");

// The path of the package, made in `dir`.
std::string make_package(const TempDir& dir) {
  const ProgramResult made = run_program(
      {"env", "HF_DEB_COMPRESSION=gzip", kRoot + "/tools/make-deb", built(""), dir.path().string()},
      120s);
  EXPECT_EQ(made.exit_code, 0) << made.output;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    if (entry.path().extension() == ".deb") return entry.path().string();
  }
  ADD_FAILURE() << "no package: " << made.output;
  return "";
}

TEST(Package, HoldsWhatItPromises) {
  const TempDir dir;
  const std::string package = make_package(dir);

  const std::string files = run_program({"dpkg-deb", "--contents", package}, 20s).output;
  const std::string control = run_program({"dpkg-deb", "--field", package}, 20s).output;

  for (const char* path :
       {"./usr/bin/holdfast\n", "./usr/sbin/holdfastd\n", "./etc/holdfast/holdfast.yaml\n",
        "./usr/lib/systemd/system/holdfastd-agent.service\n",
        "./usr/lib/systemd/system/holdfastd-controller.service\n",
        "./usr/lib/systemd/system/holdfastd-proxy.service\n",
        "./usr/lib/systemd/system/holdfastd-track.service\n",
        "./usr/share/holdfast/holdfastd-agent-tracking.conf\n",
        "./usr/lib/sysusers.d/holdfast.conf\n", "./usr/lib/tmpfiles.d/holdfast.conf\n",
        "./usr/share/man/man1/holdfast.1.gz\n", "./usr/share/man/man8/holdfastd.8.gz\n",
        "./usr/share/man/man5/holdfast.yaml.5.gz\n",
        "./usr/share/bash-completion/completions/holdfast\n",
        "./usr/share/zsh/vendor-completions/_holdfast\n",
        "./usr/share/fish/vendor_completions.d/holdfast.fish\n",
        "./usr/share/holdfast/holdfast.schema.json\n", "./usr/share/doc/holdfast/copyright\n"}) {
    EXPECT_THAT(files, HasSubstr(path));
  }
  EXPECT_THAT(control, AllOf(HasSubstr("Package: holdfast\n"), HasSubstr("libc6"),
                             HasSubstr("libgrpc++"), HasSubstr("libsqlite3-0")));
}

TEST(Package, InstallsUpgradesAndRemovesCleanly) {
  if (::geteuid() != 0) GTEST_SKIP() << "a throw-away root needs root";
  const TempDir dir;
  const ProgramResult possible =
      run_program({"unshare", "-m", "bash", "-c",
                   "d=$0 && mount -t tmpfs tmpfs $d && mkdir $d/u $d/w $d/m && mount -t overlay "
                   "overlay -o lowerdir=/,upperdir=$d/u,workdir=$d/w $d/m",
                   dir.path().string()},
                  20s);
  if (possible.exit_code != 0) {
    GTEST_SKIP() << "no throw-away root here: " << possible.output;
  }
  const std::string package = make_package(dir);
  std::filesystem::create_directory(dir.path() / "work");

  const ProgramResult done =
      run_program({"unshare", "-m", "bash", kRoot + "/tests/e2e/package_round_trip.sh", package,
                   dir.file("work")},
                  240s);

  ASSERT_EQ(done.exit_code, 0) << done.output;
  std::cout << done.output;
  for (const char* line : {"is a good configuration", "configuration is not for everyone",
                           "user is there", "upgrade keeps the configuration",
                           "removal keeps configuration and data", "purge leaves nothing"}) {
    EXPECT_THAT(done.output, HasSubstr(line));
  }
  const size_t exposure = done.output.find("exposure ");
  if (exposure != std::string::npos) {
    EXPECT_LE(std::stod(done.output.substr(exposure + 9)), 2.0);
  }
}

}  // namespace
}  // namespace holdfast::test
