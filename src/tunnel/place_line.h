// Who waits for a place of a service whose zones are all full: in the order they came, so many and
// no more. Who may go next is the first of its service; how long one waits is the waiter's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::tunnel {

struct PlaceLineOptions {
  size_t most_per_service = 256;
  size_t most = 4'096;  // of all services
};

struct PlaceLineStats {
  uint64_t joined = 0;
  uint64_t refused = 0;  // too many waited already
};

class PlaceLine {
 public:
  using Ticket = uint64_t;

  explicit PlaceLine(PlaceLineOptions options) : options_(options) {}

  // At the end of the service's line. Absent: too many wait.
  std::optional<Ticket> join(std::string_view service);
  bool has_room(std::string_view service) const;
  // Served, or wanted no more. Requires: it waits.
  void leave(Ticket ticket);

  bool is_empty(std::string_view service) const { return !lines_.contains(service); }
  bool is_first(Ticket ticket) const;
  std::optional<Ticket> first(std::string_view service) const;
  // Of every service that someone waits for.
  std::vector<Ticket> firsts() const;

  size_t waiting() const { return places_.size(); }
  size_t waiting(std::string_view service) const;
  const PlaceLineStats& stats() const { return stats_; }

 private:
  using Line = std::list<Ticket>;
  using Lines = std::map<std::string, Line, std::less<>>;
  struct Place {
    Lines::iterator line;
    Line::iterator at;
  };

  PlaceLineOptions options_;
  Lines lines_;  // none is empty
  std::map<Ticket, Place> places_;
  Ticket last_ = 0;
  PlaceLineStats stats_;
};

}  // namespace holdfast::tunnel
