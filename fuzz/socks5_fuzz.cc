// Foreign bytes as a SOCKS5 client, in pieces whose size the first byte says.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "net/socks5.h"

namespace holdfast::net {
namespace {

struct Outcome {
  Socks5::State state = Socks5::State::NeedMore;
  std::string sent{};
  std::string host{};
};

Outcome run(std::string_view bytes, size_t piece) {
  Socks5 socks;
  Outcome outcome;
  std::string pending;
  for (size_t at = 0; at < bytes.size() && outcome.state == Socks5::State::NeedMore; at += piece) {
    pending += bytes.substr(at, piece);
    const Socks5::Step step = socks.put(pending);
    HF_CHECK(step.taken <= pending.size(), "no more is taken than there is");
    pending.erase(0, step.taken);
    outcome.sent += step.send;
    outcome.state = step.state;
    HF_CHECK(outcome.state != Socks5::State::NeedMore || pending.size() <= 515,
             "what waits has a limit");
  }
  outcome.host = socks.host();
  HF_CHECK(outcome.host.empty() == (outcome.state != Socks5::State::Asked), "a host is asked for");
  return outcome;
}

}  // namespace
}  // namespace holdfast::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const holdfast::net::Outcome whole = holdfast::net::run(bytes, bytes.size() + 1);
  const holdfast::net::Outcome pieces = holdfast::net::run(bytes, size_t{data[0]} % 16 + 1);
  HF_CHECK(whole.state == pieces.state && whole.sent == pieces.sent && whole.host == pieces.host,
           "pieces change nothing");
  return 0;
}
