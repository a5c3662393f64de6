#include "net/socks5.h"

#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

using State = Socks5::State;

std::string request(const std::string& host, uint16_t port, char command = 1) {
  return std::string{5, command, 0, 3, static_cast<char>(host.size())} + host +
         std::string{static_cast<char>(port >> 8), static_cast<char>(port)};
}

const std::string kGreeting{5, 1, 0};

// What it comes to when the bytes arrive in pieces.
struct Outcome {
  State state = State::NeedMore;
  std::string sent{};
  std::string left{};
};
Outcome run(Socks5& socks, const std::string& bytes, size_t piece) {
  Outcome outcome;
  for (size_t at = 0; at < bytes.size() && outcome.state == State::NeedMore; at += piece) {
    outcome.left += bytes.substr(at, piece);
    const Socks5::Step step = socks.put(outcome.left);
    outcome.left.erase(0, step.taken);
    outcome.sent += step.send;
    outcome.state = step.state;
  }
  return outcome;
}

TEST(Socks5, AsksForAServiceByNameInPiecesOfAnySize) {
  const std::string bytes = kGreeting + request("web", 8080);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    Socks5 socks;
    const Outcome outcome = run(socks, bytes, piece);
    EXPECT_EQ(outcome.state, State::Asked) << piece;
    EXPECT_EQ(outcome.sent, (std::string{5, 0}));
    EXPECT_EQ(socks.host(), "web");
    EXPECT_EQ(socks.port(), 8080);
  }
}

TEST(Socks5, WhatComesAfterTheRequestIsNotTaken) {
  Socks5 socks;
  EXPECT_EQ(run(socks, kGreeting + request("web", 80) + "hello", 1'000).left, "hello");
}

TEST(Socks5, APasswordIsTakenAndNotLookedAtIfNothingElseIsOffered) {
  const std::string greeting{5, 1, 2};
  const std::string password = std::string{1, 5} + "alice" + std::string{6} + "secret";
  const std::string bytes = greeting + password + request("web", 80);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    Socks5 socks;
    const Outcome outcome = run(socks, bytes, piece);
    EXPECT_EQ(outcome.state, State::Asked) << piece;
    EXPECT_EQ(outcome.sent, (std::string{5, 2, 1, 0}));
  }
}

TEST(Socks5, AddressesAndOtherCommandsGetTheirReply) {
  const std::string ipv4{5, 1, 0, 1, 127, 0, 0, 1, 0, 80};
  const std::string ipv6 = std::string{5, 1, 0, 4} + std::string(18, '\1');
  const struct {
    std::string bytes;
    SocksReply reply;
  } cases[] = {{ipv4, SocksReply::UnknownAddressType},
               {ipv6, SocksReply::UnknownAddressType},
               {request("127.0.0.1", 80), SocksReply::UnknownAddressType},
               {request("web", 80, 2), SocksReply::UnknownCommand},
               {request("web", 80, 3), SocksReply::UnknownCommand},
               {request("we b", 80), SocksReply::Failed},
               {request("", 80), SocksReply::Failed}};
  for (const auto& each : cases) {
    Socks5 socks;
    const Outcome outcome = run(socks, kGreeting + each.bytes, 1'000);
    EXPECT_EQ(outcome.state, State::Refused);
    EXPECT_EQ(outcome.sent, (std::string{5, 0}) + socks_reply(each.reply));
  }
}

TEST(Socks5, OtherProtocolsAreSeenAtTheirFirstByte) {
  for (const char* text : {"\x04\x01", "GET", "\x16\x03"}) {
    Socks5 socks;
    EXPECT_EQ(run(socks, text, 1).state, State::Refused);
    EXPECT_EQ(socks.put("more").state, State::Refused) << "for good";
  }
  Socks5 socks;
  const Outcome none = run(socks, {5, 1, 1}, 10);  // GSSAPI alone
  EXPECT_EQ(none.state, State::Refused);
  EXPECT_EQ(none.sent, (std::string{5, '\xff'}));
}

}  // namespace
}  // namespace holdfast::net
