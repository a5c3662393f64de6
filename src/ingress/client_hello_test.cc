#include "ingress/client_hello.h"

#include <gtest/gtest.h>

namespace holdfast::ingress {
namespace {

using State = ClientHello::State;

std::string number(size_t value, size_t bytes) {
  std::string out;
  for (size_t i = bytes; i-- > 0;) out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string sized(const std::string& body, size_t length_bytes) {
  return number(body.size(), length_bytes) + body;
}

std::string extension(size_t type, const std::string& body) {
  return number(type, 2) + sized(body, 2);
}

std::string server_name(const std::string& name) {
  return extension(0, sized(number(0, 1) + sized(name, 2), 2));
}

std::string hello(const std::string& extensions) {
  const std::string body = std::string("\x03\x03", 2) + std::string(32, 'r') + sized("session", 1) +
                           sized("\x13\x01", 2) + sized(std::string(1, '\0'), 1) +
                           sized(extensions, 2);
  return number(1, 1) + sized(body, 3);
}

std::string record(const std::string& message) {
  return std::string("\x16\x03\x01", 3) + sized(message, 2);
}

// One record for every `piece` bytes.
std::string records(const std::string& message, size_t piece) {
  std::string out;
  for (size_t at = 0; at < message.size(); at += piece) out += record(message.substr(at, piece));
  return out;
}

TEST(ClientHello, NamesTheHostInLowerCase) {
  const ClientHello read =
      read_client_hello(record(hello(extension(10, "xx") + server_name("Web.Prod"))));

  EXPECT_EQ(read.state, State::Named);
  EXPECT_EQ(read.name, "web.prod");
}

TEST(ClientHello, AsksForMoreAtEveryByteBeforeItsEnd) {
  const std::string whole = record(hello(server_name("web")));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(read_client_hello(whole.substr(0, size)).state, State::NeedMore) << size;
  }
  EXPECT_EQ(read_client_hello(whole + "what comes after").name, "web");
}

TEST(ClientHello, IsReadAcrossRecordsOfAnySize) {
  const std::string message = hello(server_name("web"));
  for (size_t piece = 1; piece < message.size(); ++piece) {
    const std::string whole = records(message, piece);
    EXPECT_EQ(read_client_hello(whole).name, "web") << piece;
    EXPECT_EQ(read_client_hello(whole.substr(0, whole.size() - 1)).state, State::NeedMore);
  }
}

TEST(ClientHello, WithoutANameIsNoMistake) {
  EXPECT_EQ(read_client_hello(record(hello(extension(10, "xx")))).state, State::NoName);
  EXPECT_EQ(read_client_hello(record(hello(extension(0, sized("\x01" + sized("x", 2), 2))))).state,
            State::NoName);
}

TEST(ClientHello, OtherProtocolsAreSeenAtTheirFirstByte) {
  for (const char* text : {"G", "GET / HTTP/1.1\r\n", "SSH-2.0", "\x80", "\x16\x02"}) {
    EXPECT_EQ(read_client_hello(text).state, State::NotTls) << text;
  }
  EXPECT_EQ(read_client_hello(record("\x02")).state, State::NotTls) << "another message";
  EXPECT_EQ(read_client_hello(record("")).state, State::NotTls) << "an empty record";
}

TEST(ClientHello, TwoNamesOrABrokenOneAreRefused) {
  const std::string one = number(0, 1) + sized("web", 2);
  const std::string cases[] = {
      server_name("web") + server_name("api"),
      extension(0, sized(one + one, 2)),
      extension(0, sized(one, 2) + "x"),
      extension(0, sized(number(0, 1) + number(9, 2) + "web", 2)),
      server_name(""),
      server_name("web\r\nHost: x"),
      server_name(std::string("we\0b", 4)),
      server_name(std::string(256, 'a')),
      number(0, 2) + number(99, 2) + "short",
  };
  for (const std::string& each : cases) {
    EXPECT_EQ(read_client_hello(record(hello(each))).state, State::NotTls);
  }
}

TEST(ClientHello, ThatIsLongerThanTheLimitIsRefusedWhetherItSaysSoOrNot) {
  const std::string large = hello(extension(21, std::string(20'000, 'p')) + server_name("web"));
  const std::string whole = records(large, 4'000);
  EXPECT_EQ(read_client_hello(whole.substr(0, 100)).state, State::TooLong) << "it says so";

  const std::string honest = hello(extension(21, std::string(16'200, 'p')) + server_name("web"));
  const std::string drip = records(honest, 10);  // its records' headers are too much
  EXPECT_EQ(read_client_hello(drip.substr(0, kMaxClientHelloBytes - 1)).state, State::NeedMore);
  EXPECT_EQ(read_client_hello(drip.substr(0, kMaxClientHelloBytes)).state, State::TooLong);
  EXPECT_EQ(read_client_hello(drip).state, State::TooLong);
}

}  // namespace
}  // namespace holdfast::ingress
