#include "app/sd_notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "support/temp_dir.h"

namespace holdfast::app {
namespace {

// Listens as systemd does, and gives back what it is told.
class Listener {
 public:
  // `name` begins with '/' or, for an abstract socket, with '@'.
  explicit Listener(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(name, address.sun_path);
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Listener() {
    ::close(socket_);
    ::unsetenv("NOTIFY_SOCKET");
  }

  std::string heard() const {
    std::array<char, 128> text{};
    const ssize_t size = ::recv(socket_, text.data(), text.size(), MSG_DONTWAIT);
    return size < 0 ? "" : std::string(text.data(), static_cast<size_t>(size));
  }

 private:
  int socket_;
};

TEST(SdNotify, NothingHappensWhereNobodyAsked) {
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(sd_notify("READY=1").ok());
}

TEST(SdNotify, TellsASocketInTheFileSystem) {
  const test::TempDir dir;
  const Listener listener(dir.file("notify"));

  EXPECT_TRUE(sd_notify("READY=1\nSTATUS=serving").ok());

  EXPECT_EQ(listener.heard(), "READY=1\nSTATUS=serving");
}

TEST(SdNotify, TellsAnAbstractSocket) {
  const Listener listener("@holdfast-sd-notify-test-" + std::to_string(::getpid()));

  EXPECT_TRUE(sd_notify("STOPPING=1").ok());

  EXPECT_EQ(listener.heard(), "STOPPING=1");
}

TEST(SdNotify, ASocketThatIsNotThereIsAFailureAndNoMore) {
  const test::TempDir dir;
  ::setenv("NOTIFY_SOCKET", dir.file("none").c_str(), 1);
  EXPECT_EQ(sd_notify("READY=1").code(), absl::StatusCode::kUnavailable);
  ::setenv("NOTIFY_SOCKET", "relative", 1);
  EXPECT_EQ(sd_notify("READY=1").code(), absl::StatusCode::kInvalidArgument);
  ::setenv("NOTIFY_SOCKET", ("/" + std::string(200, 'a')).c_str(), 1);
  EXPECT_EQ(sd_notify("READY=1").code(), absl::StatusCode::kInvalidArgument);
  ::unsetenv("NOTIFY_SOCKET");
}

TEST(Watchdog, IsFedTwiceInTheTimeItAllows) {
  ::setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(watchdog_period(), std::chrono::seconds(15));
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_EQ(watchdog_period(), std::chrono::seconds(15));
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(watchdog_period(), std::nullopt);
  ::unsetenv("WATCHDOG_PID");
  ::setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_EQ(watchdog_period(), std::nullopt);
  ::unsetenv("WATCHDOG_USEC");
  EXPECT_EQ(watchdog_period(), std::nullopt);
}

}  // namespace
}  // namespace holdfast::app
