#include "probe/http1_answer.h"

#include <gtest/gtest.h>

namespace holdfast::probe {
namespace {

struct Seen {
  bool head = false;
  int status = 0;
  bool done = false;
  bool bad = false;
  bool operator==(const Seen&) const = default;
};

// In pieces of `size` bytes, and then the end.
Seen read(std::string_view bytes, size_t size, bool end = true) {
  Http1Answer answer;
  for (size_t at = 0; at < bytes.size(); at += size) answer.put(bytes.substr(at, size));
  if (end) answer.end();
  return {answer.head_done(), answer.status(), answer.done(), answer.bad()};
}

void expect(std::string_view bytes, const Seen& seen, bool end = true) {
  for (const size_t size : {size_t{1}, size_t{2}, size_t{7}, size_t{100000}}) {
    EXPECT_EQ(read(bytes, size, end), seen) << bytes.substr(0, 80) << " by " << size;
  }
}

const Seen kFine = {.head = true, .status = 200, .done = true};
const Seen kCut = {.head = true, .status = 200, .bad = true};

TEST(Http1Answer, EveryFraming) {
  expect("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", kFine, false);
  expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", kFine, false);
  expect("HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", kFine, false);
  expect("HTTP/1.1 200 OK\r\n\r\nuntil the end", kFine);
  expect("HTTP/1.0 200\r\n\r\n", kFine);
  expect(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0A ;x\r\n0123456789\r\n"
      "0\r\nA: b\r\n\r\n",
      kFine, false);
  expect("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
         kFine, false);
  expect("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nanything", kFine);
}

TEST(Http1Answer, SomeAnswersHaveNoBodyWhateverTheySay) {
  expect("HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\n", {true, 204, true, false}, false);
  expect("HTTP/1.1 304 No\r\n\r\n", {true, 304, true, false}, false);
  expect("HTTP/1.1 101 Up\r\n\r\n", {true, 101, true, false}, false);
}

TEST(Http1Answer, WhatOnlyAnnouncesIsPassedOver) {
  std::string announced;
  for (int i = 0; i < 5; ++i) announced += "HTTP/1.1 103 Early\r\nLocation: /x\r\n\r\n";
  expect(announced + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", kFine, false);
  EXPECT_TRUE(read(announced + "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 9).bad);
  EXPECT_TRUE(read("HTTP/1.1 199 Odd\r\n\r\n", 9).bad) << "nothing follows";
}

TEST(Http1Answer, AnAnswerThatEndsEarlyIsBadAndTellsWhere) {
  expect("", {.bad = true});
  expect("HTTP/1.1 200 OK\r\nContent-Le", {.status = 200, .bad = true});
  expect("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", kCut);
  expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", kCut);
  expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", kCut);
  expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", kCut, false);
  expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", kCut, false);
}

TEST(Http1Answer, WhatIsNotHttpIsBad) {
  for (const char* bytes :
       {"garbage\n", "\r\n", "HTTP/1.1\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1 abc\r\n", "HTTP/x.1 200 OK\r\n", "HTTPS/1.1 200 OK\r\n", "http/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n", "HTTP/1.1 200 OK\r\n: empty\r\n",
        "HTTP/1.1 200 OK\r\nA B: c\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n", "HTTP/1.1 200 OK\r\nContent-Length: \r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n"}) {
    EXPECT_TRUE(read(bytes, 3, false).bad) << bytes;
    EXPECT_FALSE(read(bytes, 3, false).head) << bytes;
  }
}

TEST(Http1Answer, EnoughOfABodyIsEnough) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n";
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n";
  for (const std::string& start : {head, chunked, std::string("HTTP/1.1 200 OK\r\n\r\n")}) {
    EXPECT_FALSE(read(start + std::string(kEnoughBodyBytes - 1, 'x'), 4096, false).done);
    EXPECT_TRUE(read(start + std::string(kEnoughBodyBytes, 'x'), 4096, false).done);
    EXPECT_TRUE(read(start + std::string(kEnoughBodyBytes + 1, 'x'), 4096, false).done);
  }
}

TEST(Http1Answer, AHeadHasALimit) {
  const std::string line = "A: " + std::string(1000, 'x') + "\r\n";
  std::string head = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 300; ++i) head += line;
  EXPECT_TRUE(read(head, 4096, false).bad);
  EXPECT_TRUE(read(std::string(300000, 'H'), 4096, false).bad);
}

TEST(Http1Answer, TheFirstLocationCounts) {
  Http1Answer answer;
  answer.put("HTTP/1.1 302 F\r\nlocation:  /a \r\nLocation: /b\r\n folded\r\n\r\n");
  EXPECT_EQ(answer.location(), "/a");
  EXPECT_EQ(answer.status(), 302);
}

}  // namespace
}  // namespace holdfast::probe
