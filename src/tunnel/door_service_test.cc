#include "tunnel/door_service.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "net/look_up.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

class DoorTest : public testing::Test {
 protected:
  ~DoorTest() override {
    door_.close();
    bool joined = false;
    tasks_.spawn(end(joined));
    run_until([&] { return joined; });
    loop_.restart();
    loop_.run_for(1s);
  }

  void open() {
    const Result<std::string> address = door_.listen("127.0.0.1:0");
    ASSERT_TRUE(address.ok()) << address.status();
    port_ = static_cast<uint16_t>(std::stoi(net::split_host_port(*address)->port));
    door_.start();
  }
  tcp::socket connect() {
    tcp::socket socket(loop_);
    socket.connect({asio::ip::address_v4::loopback(), port_});
    return socket;
  }
  template <typename Condition>
  bool run_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      loop_.restart();
      loop_.run_one_for(100ms);
    }
    return condition();
  }

  asio::awaitable<void> close_and_end(bool& joined) {
    door_.close();
    co_await end(joined);
  }

  asio::io_context loop_;
  SystemClock clock_;
  uint16_t port_ = 0;
  int entered_ = 0;
  // Slots are never given back: whoever gets one keeps it.
  Door door_{{.loop = loop_.get_executor(), .clock = clock_},
             {.max_handshakes = 2, .max_quiet = 3, .first_byte = 200ms},
             1,
             [this](net::StreamSocket, Admission::Start) -> asio::awaitable<void> {
               entered_ += 1;
               co_return;
             }};
  net::TaskGroup tasks_{loop_.get_executor()};

 private:
  asio::awaitable<void> end(bool& joined) {
    co_await door_.join();
    joined = true;
  }
};

TEST_F(DoorTest, WhoSaysNothingDoesNotStandInTheWay) {
  open();
  std::vector<tcp::socket> silent;
  for (int i = 0; i < 3; ++i) silent.push_back(connect());
  ASSERT_TRUE(run_until([&] { return door_.admission().quiet() == 3; }));
  tcp::socket speaks = connect();
  asio::write(speaks, asio::buffer("x", 1));

  EXPECT_TRUE(run_until([&] { return entered_ == 1; }));
  EXPECT_EQ(door_.admission().handshakes(), 1U);
  EXPECT_TRUE(run_until([&] { return door_.admission().quiet() == 0; })) << "closed in time";
  EXPECT_EQ(door_.admission().stats().quiet, 3U);
  char byte = 0;
  boost::system::error_code error;
  silent[2].read_some(asio::buffer(&byte, 1), error);
  EXPECT_EQ(error, asio::error::eof);
}

// As a balancer's check of the port does: it must not use up what its address may fail.
// As a proxy stops: join() cancels the wait for a first byte before the loop has run its handler.
TEST_F(DoorTest, ASocketOutlivesTheWaitForItsFirstByte) {
  open();
  const tcp::socket silent = connect();
  ASSERT_TRUE(run_until([&] { return door_.admission().quiet() == 1; }));
  bool joined = false;

  tasks_.spawn(close_and_end(joined));

  EXPECT_TRUE(run_until([&] { return joined; }));
}

TEST_F(DoorTest, WhoLeavesWithoutAByteHasNotFailed) {
  open();
  for (int i = 0; i < 3; ++i) (void)connect();

  EXPECT_TRUE(run_until([&] { return door_.admission().stats().quiet == 3; }));
  EXPECT_EQ(entered_, 0);
}

}  // namespace
}  // namespace holdfast::tunnel
