// Foreign bytes as a watch request, taken as far as the fan-out: it is refused, or it is served
// from a small ring whose events come, overflow and go while it watches.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "events/fan_out.h"
#include "events/watch_request.h"

namespace holdfast::events {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kFirst = 10;

WatchKind confirmed(std::string kind, bool with_secrets) {
  return {.kind = std::move(kind), .name = {}, .labels = {}, .with_secrets = with_secrets};
}

Event put(std::string kind, std::string tier, int64_t revision) {
  v1::Resource resource;
  resource.set_kind(std::move(kind));
  resource.mutable_metadata()->set_name("web");
  (*resource.mutable_metadata()->mutable_labels())["tier"] = std::move(tier);
  resource.mutable_user()->set_password_hash("secret");
  v1::Resource visible = resource;
  visible.clear_user();
  return make_put(resource, &visible, revision);
}

void append(FanOut& fan_out, int64_t revision) {
  const Time now = Time{} + std::chrono::seconds(revision);
  std::vector<Event> events;
  events.push_back(put("service", revision % 2 == 0 ? "front" : "back", revision));
  events.push_back(put("user", "front", revision));
  events.push_back(make_delete("agent", "web", revision));
  static_cast<void>(fan_out.append(std::move(events), now));
}

// Everything the watcher is due: Init once and first, then revisions above what it asked for, in
// order, each message readable.
class Reader {
 public:
  Reader(FanOut& fan_out, WatcherId id, const WatchRequest& request)
      : fan_out_(fan_out), id_(id), last_(request.after_revision) {
    for (const WatchKind& kind : request.kinds) may_see_secrets_ |= kind.with_secrets;
  }

  void read_all() {
    while (!closed_ && read_one()) {
    }
  }

 private:
  bool read_one() {
    const Taken taken = fan_out_.take(id_);
    closed_ = std::holds_alternative<Closed>(taken);
    const auto* message = std::get_if<std::shared_ptr<const Message>>(&taken);
    if (message == nullptr) return false;
    v1::WatchResponse response;
    HF_CHECK(response.ParseFromString((*message)->bytes), "a message is a WatchResponse");
    HF_CHECK(!response.events().empty(), "a message says something");
    for (const v1::Event& event : response.events()) check(event);
    return true;
  }

  void check(const v1::Event& event) {
    const bool is_init = event.type() == v1::EVENT_TYPE_INIT;
    HF_CHECK(is_init != seen_init_, "Init comes first and once");
    seen_init_ = true;
    HF_CHECK(is_init || event.revision() > asked_after(), "nothing old is seen");
    HF_CHECK(event.revision() >= last_, "revisions come in order");
    last_ = event.revision();
    HF_CHECK(may_see_secrets_ || event.resource().user().password_hash().empty(),
             "secrets are for those who asked");
    if (is_init) init_revision_ = event.revision();
  }
  int64_t asked_after() const { return init_revision_; }

  FanOut& fan_out_;
  WatcherId id_;
  int64_t last_;
  int64_t init_revision_ = 0;
  bool seen_init_ = false;
  bool closed_ = false;
  bool may_see_secrets_ = false;
};

void serve(const v1::WatchRequest& proto, int64_t newest) {
  const Result<WatchRequest> request = from_proto(proto, {});
  if (!request.ok()) return;
  const std::vector<WatchKind> kinds = {confirmed("service", false), confirmed("user", true),
                                        confirmed("agent", false)};
  FanOut fan_out({.capacity = 6, .max_bytes = 4'000, .grace = 2s, .max_message_bytes = 64}, kinds);
  const Result<WatcherId> early = fan_out.add(*request);
  static_cast<void>(fan_out.init(kinds, kFirst, newest));
  for (int64_t revision = kFirst + 1; revision < kFirst + 4; ++revision) append(fan_out, revision);
  const Result<WatcherId> late = fan_out.add(*request);
  if (early.ok()) Reader(fan_out, *early, *request).read_all();
  if (!late.ok()) return;
  Reader reader(fan_out, *late, *request);
  reader.read_all();
  append(fan_out, kFirst + 5);
  reader.read_all();
  for (int64_t revision = kFirst + 6; revision < kFirst + 12; ++revision) append(fan_out, revision);
  static_cast<void>(fan_out.on_tick(Time{} + 1h));
  reader.read_all();
  fan_out.remove(*late);
  HF_CHECK(fan_out.watcher_count() <= 1, "who is removed is gone");
  static_cast<void>(fan_out.reset(absl::UnavailableError("again")));
}

}  // namespace
}  // namespace holdfast::events

// The first byte: the store's revision that the caller has looked up; 0 if it has not.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  holdfast::v1::WatchRequest request;
  if (!request.ParseFromArray(data + 1, static_cast<int>(size - 1))) return 0;
  holdfast::events::serve(request, data[0]);
  return 0;
}
