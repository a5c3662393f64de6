#include "app/paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

namespace holdfast::app {
namespace {

constexpr uid_t kNobody = 65534;

// An environment variable as the test wants it, and as it was afterwards.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) {
    if (value != nullptr) ::setenv(name_, value, 1);
    if (value == nullptr) ::unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> before_;
};

// Root's folder is fixed, so the tests of others' are run as one of them.
class PathsOfAUser : public testing::Test {
 protected:
  void SetUp() override {
    if (was_root_) ASSERT_EQ(::seteuid(kNobody), 0);
  }
  void TearDown() override {
    if (was_root_) ASSERT_EQ(::seteuid(0), 0);
  }
  bool was_root_ = ::geteuid() == 0;
};

TEST_F(PathsOfAUser, TheStateFolderIsTheOneNamedElseTheOneAtHome) {
  const Variable home("HOME", "/h/ada");
  {
    const Variable state("XDG_STATE_HOME", "/state");
    EXPECT_EQ(default_data_dir(), "/state/holdfast");
  }
  for (const char* none : {static_cast<const char*>(nullptr), ""}) {
    const Variable state("XDG_STATE_HOME", none);
    EXPECT_EQ(default_data_dir(), "/h/ada/.local/state/holdfast");
  }
}

TEST_F(PathsOfAUser, WithoutAHomeNoFolderIsGuessed) {
  const Variable state("XDG_STATE_HOME", nullptr);
  for (const char* none : {static_cast<const char*>(nullptr), ""}) {
    const Variable home("HOME", none);
    EXPECT_EQ(default_data_dir(), "");
  }
}

}  // namespace
}  // namespace holdfast::app
