// The bytes of a secure connection, without waiting: reads what is there, writes what goes, keeps
// the rest. A link's own; large buffers are held only while bytes flow.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "tunnel/secure_connection_service.h"

namespace holdfast::tunnel {

class TlsPipe {
 public:
  // Sets the socket's options; `unsent_bytes` as in LinkOptions.
  TlsPipe(SecureConnection& connection, size_t unsent_bytes);

  struct Got {
    size_t bytes = 0;
    bool more = false;    // ask again before waiting: nothing will wake us for it
    bool closed = false;  // the peer said that it sends no more
  };
  // As much as there is. kUnavailable HF2023: the connection broke.
  Result<Got> read(std::span<char> into);

  // What does not go is kept. Requires: !blocked().
  Status write(std::span<const char> bytes);
  // What is kept; how much of it went.
  Result<size_t> write_kept();
  bool blocked() const { return !kept_.empty(); }
  size_t last_written() const { return last_written_; }

  // Nothing has come for a while: gives back what is not needed.
  void rest();
  // Gives back the room of what was kept, if nothing is: for a link that is used.
  void release_kept();
  size_t kept_capacity() const { return kept_.capacity(); }
  // Tells the peer that nothing more comes. Best effort.
  void finish();

 private:
  Result<size_t> write_some(std::span<const char> bytes);
  void adapt(size_t bytes);

  SecureConnection& connection_;
  std::vector<char> kept_;
  size_t kept_from_ = 0;
  size_t last_written_ = 0;
  unsigned small_reads_ = 0;  // in a row
  bool reads_ahead_ = false;  // far
};

}  // namespace holdfast::tunnel
