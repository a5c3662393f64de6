#include "tunnel/place_line.h"

#include "base/check.h"

namespace holdfast::tunnel {

size_t PlaceLine::waiting(std::string_view service) const {
  const auto found = lines_.find(service);
  return found == lines_.end() ? 0 : found->second.size();
}

bool PlaceLine::has_room(std::string_view service) const {
  return places_.size() < options_.most && waiting(service) < options_.most_per_service;
}

std::optional<PlaceLine::Ticket> PlaceLine::join(std::string_view service) {
  if (!has_room(service)) {
    stats_.refused += 1;
    return std::nullopt;
  }
  stats_.joined += 1;
  const auto line = lines_.try_emplace(std::string(service)).first;
  line->second.push_back(++last_);
  places_[last_] = {.line = line, .at = std::prev(line->second.end())};
  return last_;
}

void PlaceLine::leave(Ticket ticket) {
  const auto found = places_.find(ticket);
  HF_CHECK(found != places_.end(), "who leaves a line stood in it");
  const Place place = found->second;
  places_.erase(found);
  place.line->second.erase(place.at);
  if (place.line->second.empty()) lines_.erase(place.line);
}

bool PlaceLine::is_first(Ticket ticket) const {
  const auto found = places_.find(ticket);
  return found != places_.end() && found->second.line->second.front() == ticket;
}

std::optional<PlaceLine::Ticket> PlaceLine::first(std::string_view service) const {
  const auto found = lines_.find(service);
  return found == lines_.end() ? std::nullopt : std::optional(found->second.front());
}

std::vector<PlaceLine::Ticket> PlaceLine::firsts() const {
  std::vector<Ticket> tickets;
  for (const auto& [service, line] : lines_) tickets.push_back(line.front());
  return tickets;
}

}  // namespace holdfast::tunnel
