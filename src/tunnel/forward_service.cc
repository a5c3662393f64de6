#include "tunnel/forward_service.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "holdfast/v1/tunnel.pb.h"
#include "tunnel/socket_end_service.h"
#include "tunnel/target_dial_service.h"

namespace holdfast::tunnel {

class ForwardService::Place {
 public:
  Place(ForwardService& service, std::string target)
      : service_(service), target_(std::move(target)) {
    ++service_.stats_.connections;
    ++service_.by_target_[target_];
  }
  ~Place() {
    --service_.stats_.connections;
    const auto found = service_.by_target_.find(target_);
    if (--found->second == 0) service_.by_target_.erase(found);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  ForwardService& service_;
  std::string target_;
};

ForwardService::ForwardService(const asio::any_io_executor& loop, ForwardOptions options)
    : options_(options), tasks_(loop) {}

void ForwardService::set_targets(TargetTable targets) {
  targets_ = std::move(targets);
  silent_.clear();
}

void ForwardService::open(Link& link, StreamId stream, std::string_view payload) {
  v1::OpenStream asked;
  if (!asked.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    ++stats_.malformed;
    return link.reset(stream, ResetCode::NotAllowed, "not an OpenStream");
  }
  if (draining_) return refuse(link, stream, {ResetCode::Draining, "the agent is leaving"});
  std::optional<v1::Service> known;
  if (find_service_) known = find_service_(asked.service());
  const Target* target = targets_.find(asked.service(), asked.port(), known ? &*known : nullptr);
  if (target == nullptr) {
    return refuse(
        link, stream,
        {ResetCode::NotExposed, fmt::format("nothing is named here for service {}, port {}",
                                            in_quotes(asked.service()), in_quotes(asked.port()))});
  }
  if (const auto found = unhealthy_.find(asked.service()); found != unhealthy_.end()) {
    ++stats_.unhealthy;
    return link.reset(stream, ResetCode::Refused,
                      fmt::format("not healthy here: {}", found->second));
  }
  SharedPlace place = take_place(to_string(*target));
  if (place == nullptr) {
    return refuse(link, stream,
                  {ResetCode::Limit,
                   fmt::format("too many connections to {} run here", in_quotes(asked.service()))});
  }
  asked_.push_back({.link = &link, .stream = stream});
  tasks_.spawn(connect(std::prev(asked_.end()), *target, std::move(place)));
}

void ForwardService::forget(const Link& link) {
  for (Asked& asked : asked_) {
    if (asked.link == &link) asked.link = nullptr;
  }
}

ForwardService::SharedPlace ForwardService::take_place(const std::string& target) {
  const auto found = by_target_.find(target);
  const size_t running = found == by_target_.end() ? 0 : found->second;
  if (stats_.connections >= options_.max_connections || running >= options_.max_per_target) {
    return nullptr;
  }
  return std::make_shared<const Place>(*this, target);
}

asio::awaitable<void> ForwardService::connect(AskedAt asked, Target target, SharedPlace place) {
  Result<net::StreamSocket> socket = co_await dial_target(target, options_.connect_timeout);
  note(to_string(target), socket.status());
  const Asked answered = *asked;
  asked_.erase(asked);
  answer(answered, std::move(socket), std::move(place));
}

// One line when an application falls silent, one when it answers again.
void ForwardService::note(const std::string& target, const Status& dialled) {
  if (absl::IsCancelled(dialled)) return;
  if (dialled.ok()) {
    if (silent_.erase(target) > 0) log::info("application answers again", {{"target", target}});
  } else if (silent_.insert(target).second) {
    log::warn("application does not answer; its connections are refused",
              {{"target", target}, {"why", std::string(dialled.message())}});
  }
}

void ForwardService::answer(const Asked& asked, Result<net::StreamSocket> socket,
                            SharedPlace place) {
  if (asked.link == nullptr) {
    ++stats_.cancelled;
    return;
  }
  if (!socket.ok()) {
    const bool late = absl::IsDeadlineExceeded(socket.status());
    place.reset();
    return refuse(
        *asked.link, asked.stream,
        {late ? ResetCode::Timeout : ResetCode::Refused, std::string(socket.status().message())});
  }
  ++stats_.accepted;
  const auto ended = [this, place = std::move(place)](const EndReport& report) {
    stats_.bytes_in += report.from_peer;
    stats_.bytes_out += report.to_peer;
    if (report.reset) ++stats_.cut;
  };
  asked.link->accept(asked.stream, std::make_unique<SocketEnd>(
                                       *std::move(socket), SocketEndOptions{.on_ended = ended}));
}

void ForwardService::refuse(Link& link, StreamId stream, const Refusal& refusal) {
  ++count_of(refusal.code);
  link.reset(stream, refusal.code, refusal.why);
}

uint64_t& ForwardService::count_of(ResetCode code) {
  switch (code) {
    case ResetCode::NotExposed:
      return stats_.not_exposed;
    case ResetCode::Limit:
      return stats_.over_limit;
    case ResetCode::Draining:
      return stats_.draining;
    case ResetCode::Timeout:
      return stats_.timed_out;
    default:
      return stats_.refused;
  }
}

}  // namespace holdfast::tunnel
