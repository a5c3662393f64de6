#include "support/netns.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

#include "base/check.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uint16_t kPort = 7000;

sockaddr_in endpoint(const std::string& address) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(kPort);
  HF_CHECK(::inet_pton(AF_INET, address.c_str(), &result.sin_addr) == 1, "an address");
  return result;
}

// A UDP socket on one of the machines, which shows who its letters are from.
class Mailbox {
 public:
  explicit Mailbox(const std::string& address) {
    socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const sockaddr_in own = endpoint(address);
    HF_CHECK(::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)) == 0,
             "the address is the machine's own");
  }
  ~Mailbox() { ::close(socket_); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void send(const std::string& to, const std::string& text) const {
    const sockaddr_in there = endpoint(to);
    // It may be told that there is no way; then nothing arrives.
    (void)::sendto(socket_, text.data(), text.size(), MSG_DONTWAIT,
                   reinterpret_cast<const sockaddr*>(&there), sizeof(there));
  }
  // Whether such a letter comes within `patience`; others are thrown away.
  bool receives(const std::string& text, std::chrono::milliseconds patience) const {
    pollfd entry{.fd = socket_, .events = POLLIN, .revents = 0};
    while (::poll(&entry, 1, static_cast<int>(patience.count())) == 1) {
      std::string got(200, '\0');
      const ssize_t size = ::recv(socket_, got.data(), got.size(), MSG_DONTWAIT);
      if (size < 0) continue;  // an error that was reported for what it sent
      got.resize(static_cast<size_t>(size));
      if (got == text) return true;
    }
    return false;
  }

 private:
  int socket_ = -1;
};

class Netns : public testing::Test {
 protected:
  void SetUp() override {
    const Status entered = enter_own_network();
    if (!entered.ok()) GTEST_SKIP() << entered;
    network_ = std::make_unique<OwnNetwork>(std::vector<std::string>{"a", "b", "witness"});
    for (const char* node : {"a", "b", "test", "witness"}) {
      network_->within(node,
                       [&] { boxes_[node] = std::make_unique<Mailbox>(network_->address(node)); });
    }
  }

  // Once with patience; the answer of one lost packet would be no answer.
  bool arrives(const std::string& from, const std::string& to, bool expected) {
    const std::string text = from + " to " + to + " " + std::to_string(++letters_);
    for (int attempt = 0; attempt < (expected ? 20 : 2); ++attempt) {
      boxes_.at(from)->send(network_->address(to), text);
      if (boxes_.at(to)->receives(text, 150ms)) return true;
    }
    return false;
  }

  // Of all twelve ways between the four, those that are cut, where `cut` should be.
  std::set<std::string> ways_that_are_cut(const std::set<std::string>& cut) {
    std::set<std::string> found;
    for (const auto& [from, box] : boxes_) {
      for (const auto& [to, other] : boxes_) {
        const std::string way = from + ">" + to;
        if (from != to && !arrives(from, to, !cut.contains(way))) found.insert(way);
      }
    }
    return found;
  }
  void expect_cut(const std::set<std::string>& cut) {
    EXPECT_EQ(ways_that_are_cut(cut), cut);
    network_->heal();
    EXPECT_THAT(ways_that_are_cut({}), IsEmpty()) << "after healing";
  }

  std::unique_ptr<OwnNetwork> network_;
  std::map<std::string, std::unique_ptr<Mailbox>> boxes_;
  int letters_ = 0;
};

TEST_F(Netns, EverybodyReachesEverybodyAtFirst) {
  EXPECT_THAT(ways_that_are_cut({}), IsEmpty());
}

TEST_F(Netns, AnIsolatedNodeIsAloneAndNobodyElseIs) {
  network_->isolate("a");
  expect_cut({"a>b", "a>test", "a>witness", "b>a", "test>a", "witness>a"});
}

TEST_F(Netns, ACutPairIsSeenByEverybodyElse) {
  network_->cut("a", "b");
  expect_cut({"a>b", "b>a"});
}

TEST_F(Netns, WhatIsLostOneWayArrivesTheOtherWay) {
  network_->lose("a", "b");
  expect_cut({"a>b"});
}

TEST_F(Netns, FaultsAddUpAndHealTogether) {
  network_->lose("b", "test");
  network_->isolate("witness");
  expect_cut({"b>test", "a>witness", "b>witness", "test>witness", "witness>a", "witness>b",
              "witness>test"});
}

TEST_F(Netns, AProgramRunsOnItsNodeAndDiesWithItsOwner) {
  const ProgramResult shown = run_program(network_->on("b", {"ip", "-4", "address", "show"}), 10s);
  EXPECT_THAT(shown.output, HasSubstr(network_->address("b")));
  EXPECT_THAT(shown.output, Not(HasSubstr(network_->address("a"))));
  ChildProcess sleeper({.arguments = network_->on("b", {"sleep", "100"})});
  const auto is_the_program = [&] {
    return run_program({"cat", "/proc/" + std::to_string(sleeper.pid()) + "/comm"}, 10s).output ==
           "sleep\n";
  };
  EXPECT_TRUE(eventually(is_the_program, 10s)) << "no wrapper stands between";
}

TEST_F(Netns, NothingOfItIsSeenOutside) {
  const ProgramResult outside = run_program(
      {"nsenter", "--net=/proc/" + std::to_string(::getppid()) + "/ns/net", "ip", "link", "show"},
      10s);
  ASSERT_EQ(outside.exit_code, 0) << outside.output;
  EXPECT_THAT(outside.output, Not(AnyOf(HasSubstr("switch"), HasSubstr("port1"))));
}

}  // namespace
}  // namespace holdfast::test
