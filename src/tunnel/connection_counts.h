// Clients' connections through this proxy, by service, port and the zone they went to: what metrics
// tell of them. Kept as long as the service is there, or a connection to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "route/load.h"
#include "route/places.h"

namespace holdfast::tunnel {

// What a client asked for, as metrics name it. Views of what outlives the call.
struct AskedFor {
  std::string_view service{};
  std::string_view address{};  // its virtual IP; its name, if it has none
  uint32_t port = 0;
  std::string_view protocol{};  // "tcp" or "udp"
};

struct ConnectionKey {
  std::string service{};
  uint32_t port = 0;
  std::string zone{};

  using View = std::tuple<std::string_view, uint32_t, std::string_view>;
  View view() const { return {service, port, zone}; }
};

struct ConnectionRow {
  std::string address{};
  std::string protocol{};
  uint64_t opened = 0;
  uint64_t closed = 0;
  route::FailedCounts failed{};  // of the closed
  size_t held = 0;               // by connections that run or are being opened

  uint64_t active() const { return opened - closed; }
};

class ConnectionCounts {
 public:
  // Between keys and their views.
  struct Less {
    using is_transparent = void;
    static ConnectionKey::View view(const ConnectionKey& key) { return key.view(); }
    static ConnectionKey::View view(const ConnectionKey::View& view) { return view; }
    bool operator()(const auto& left, const auto& right) const { return view(left) < view(right); }
  };
  using Rows = std::map<ConnectionKey, ConnectionRow, Less>;

  explicit ConnectionCounts(size_t most) : most_(most) {}

  // Held until it is let go. Null, and counted, if there are too many.
  ConnectionRow* hold(const AskedFor& asked, std::string_view zone);
  static void let_go(ConnectionRow& row) { row.held -= 1; }
  // Its counts, at the end of what was opened.
  static void ended(ConnectionRow& row, route::Ended how);

  // Those of services that are gone, once nothing holds them.
  void forget_unless(const std::function<bool(const std::string& service)>& is_there);

  const Rows& rows() const { return rows_; }
  uint64_t left_out() const { return left_out_; }  // connections without a row

 private:
  size_t most_;
  Rows rows_;
  uint64_t left_out_ = 0;
};

}  // namespace holdfast::tunnel
