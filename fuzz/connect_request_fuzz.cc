// Foreign bytes as the head of a request: once it is decided, more bytes change nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "ingress/connect_request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace holdfast::ingress;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ConnectRequest whole = read_connect_request(bytes);
  // Small inputs byte by byte, longer ones in about as many pieces as are worth the time.
  const size_t piece = 1 + size / 64;
  ConnectRequest grown;
  for (size_t end = 0; end < size && grown.state == ConnectRequest::State::NeedMore;) {
    end = std::min(end + piece, size);
    grown = read_connect_request(bytes.substr(0, end));
  }
  HF_CHECK(grown.state == whole.state && grown.host == whole.host && grown.port == whole.port,
           "pieces change nothing");
  HF_CHECK(whole.head_bytes <= size, "a head is of its bytes");
  if (whole.state != ConnectRequest::State::Connect) return 0;
  HF_CHECK(!whole.host.empty() && whole.host.find_first_of(" \r\n/@:") == std::string::npos,
           "a host is a name");
  HF_CHECK(service_of_host(whole.host, "prod").size() <= whole.host.size(), "a part of it");
  return 0;
}
