// Foreign bytes as the beginning of a TLS connection: once it is decided, more bytes change
// nothing.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "ingress/client_hello.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using holdfast::ingress::ClientHello;
  using holdfast::ingress::read_client_hello;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ClientHello whole = read_client_hello(bytes);
  HF_CHECK(whole.name.empty() == (whole.state != ClientHello::State::Named), "a name is named");
  HF_CHECK(whole.name.size() <= 255, "a name has its limit");
  ClientHello grown;
  for (size_t end = 1; end <= size && grown.state == ClientHello::State::NeedMore; ++end) {
    grown = read_client_hello(bytes.substr(0, end));
  }
  HF_CHECK(grown.state == whole.state && grown.name == whole.name, "pieces change nothing");
  return 0;
}
