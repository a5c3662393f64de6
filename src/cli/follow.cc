#include "cli/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

constexpr auto kPause = std::chrono::milliseconds(250);

bool may_come_back(const Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// How far one watch has come, through all its connections.
class Follower {
 public:
  Follower(const Session& session, v1::WatchRequest request,
           const std::function<bool(const v1::Event&)>& on_event)
      : session_(session),
        request_(std::move(request)),
        on_event_(on_event),
        seen_(request_.after_revision()) {}

  Status run() {
    for (;;) {
      const Status status =
          session_.client.watch(request_, [this](const v1::Event& event) { return take(event); });
      if (status.ok() || !begun_) return status;
      if (absl::IsOutOfRange(status) && !anew_) {
        begin_anew(status);
      } else if (!may_come_back(status) || !goes_on()) {
        return status;
      }
    }
  }

 private:
  bool take(const v1::Event& event) {
    const bool again = begun_ && !anew_ && event.type() == v1::EVENT_TYPE_INIT;
    if (anew_) seen_ = 0;  // the histories of two halves need not be of one length
    begun_ = true;
    anew_ = false;
    give_up_at_.reset();
    const bool more = again || on_event_(event);
    seen_ = std::max(seen_, event.revision());
    return more;
  }

  // False: it has been cut off for too long.
  bool goes_on() {
    if (!give_up_at_) {
      give_up_at_ = clock_.now() + session_.client.patience();
      print_err(fmt::format("connection lost; following again from revision {}\n", seen_));
    }
    if (clock_.now() >= *give_up_at_) return false;
    if (!anew_) request_.set_after_revision(seen_);
    session_.client.pause(kPause);
    return true;
  }

  void begin_anew(const Status& why) {
    anew_ = true;
    request_.set_after_revision(0);
    print_err(fmt::format(
        "changes after revision {} are not known any more ({}); going on from what there is now\n",
        seen_, printable(std::string(why.message()))));
  }

  const SystemClock clock_;
  const Session& session_;
  v1::WatchRequest request_;
  const std::function<bool(const v1::Event&)>& on_event_;
  bool begun_ = false;
  bool anew_ = false;  // the next Init is another beginning
  int64_t seen_;
  std::optional<Time> give_up_at_;  // while it is cut off
};

}  // namespace

Status follow(const Session& session, v1::WatchRequest request,
              const std::function<bool(const v1::Event&)>& on_event) {
  return Follower(session, std::move(request), on_event).run();
}

}  // namespace holdfast::cli
