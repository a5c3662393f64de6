// The part of a link that knows its streams: opening, what comes for them, and how they end.
#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/reason.h"
#include "base/result.h"
#include "net/within.h"
#include "tunnel/link_state_service.h"

namespace holdfast::tunnel {
namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

Status refused(ResetCode code, std::string_view why) {
  return absl::UnavailableError(fmt::format("{}: {}", to_string(code), why));
}

}  // namespace

asio::awaitable<Status> Link::State::open(std::string payload, std::unique_ptr<StreamEnd>& end,
                                          Duration timeout) {
  if (outcome_) co_return refused(ResetCode::Broken, "the tunnel has ended");
  if (!parts_.buffers.allow_stream()) {
    co_return coded(absl::StatusCode::kResourceExhausted, "HF2010",
                    "too much is kept for those who read slowly");
  }
  CO_TRY(const StreamId id, session_.open(payload));
  Waiter waiter{.done = asio::steady_timer(parts_.loop, timeout), .end = &end};
  streams_[id] = std::make_unique<Stream>(parts_.buffers);
  streams_[id]->waiter = &waiter;
  schedule_work();
  bool unwanted = co_await net::is_cancelled();
  if (!unwanted) co_await waiter.done.async_wait(asio::as_tuple(asio::use_awaitable));
  unwanted = co_await net::is_cancelled();
  // With an outcome the link may be gone.
  if (waiter.outcome) co_return *waiter.outcome;
  streams_.erase(id);
  session_.reset(id, unwanted ? ResetCode::Cancelled : ResetCode::Timeout, "");
  schedule_work();
  if (unwanted) co_return absl::CancelledError("no longer wanted");
  co_return absl::DeadlineExceededError("the agent did not answer in time");
}

void Link::State::accept(StreamId id, std::unique_ptr<StreamEnd> end) {
  Stream* stream = find(id);
  if (stream == nullptr || outcome_) {
    end->reset(ResetCode::Cancelled, "the stream is no longer wanted");
    return;
  }
  HF_CHECK(!stream->end, "a stream is accepted once");
  session_.accept(id);
  attach(id, *stream, std::move(end));
}

void Link::State::reset(StreamId id, ResetCode code, std::string_view why) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || outcome_) return;
  const std::unique_ptr<Stream> stream = std::move(found->second);
  streams_.erase(found);
  session_.reset(id, code, why);
  if (stream->waiter != nullptr) {
    stream->waiter->outcome = refused(code, why);
    stream->waiter->done.cancel();
  }
  if (stream->end) {
    stream->end->reset(code, why);
    buried_.push_back(std::move(stream->end));
  }
  schedule_work();
}

Status Link::State::send(std::string_view message) {
  if (outcome_) return absl::UnavailableError("the tunnel has ended");
  TRY_OK(session_.send_message(message));
  schedule_work();
  return absl::OkStatus();
}

void Link::State::say_goodbye(std::string_view why) {
  if (outcome_) return;
  session_.say_goodbye(why);
  schedule_work();
}

void Link::State::on_event(const Event& event) {
  std::visit(Overloaded{
                 [](const DataCame& /*data*/) { HF_CHECK(false, "on_data() is for those"); },
                 [this](const EndCame& end) { on_end(end.stream); },
                 [this](const Accepted& accepted) { on_accepted(accepted.stream); },
                 [this](const ResetCame& reset) { on_reset(reset); },
                 [this](const OpenAsked& asked) {
                   if (!parts_.buffers.allow_stream()) {
                     session_.reset(asked.stream, ResetCode::Limit, "too much is kept already");
                     return schedule_work();
                   }
                   streams_[asked.stream] = std::make_unique<Stream>(parts_.buffers);
                   parts_.owner.on_open(link_, asked.stream, asked.payload);
                 },
                 [this](const MessageCame& message) {
                   Status taken = parts_.owner.on_message(link_, message.payload);
                   if (!taken.ok()) close(std::move(taken));
                 },
                 [this](const GoodbyeCame& goodbye) {
                   peer_leaves_ = true;
                   parts_.owner.on_goodbye(link_, goodbye.why);
                 },
             },
             event);
}

size_t Link::State::on_data(std::span<const Event> events) {
  const StreamId id = std::get<DataCame>(events.front()).stream;
  std::array<std::string_view, StreamEnd::kMostParts> parts;
  size_t count = 0;
  while (count < std::min(events.size(), parts.size())) {
    const DataCame* data = std::get_if<DataCame>(&events[count]);
    if (data == nullptr || data->stream != id) break;
    parts[count++] = data->bytes;
  }
  if (Stream* stream = find(id)) take_data(id, *stream, std::span(parts).first(count));
  return count;
}

void Link::State::take_data(StreamId id, Stream& stream, std::span<const std::string_view> parts) {
  size_t taken = 0;
  if (stream.end && stream.kept.empty()) {
    const ssize_t pushed =
        parts.size() == 1 ? stream.end->push(parts[0]) : stream.end->push_parts(parts);
    if (pushed < 0) return break_stream(id, "the connection behind it broke");
    taken = static_cast<size_t>(pushed);
    session_.consumed(id, taken, now_);
  }
  for (const std::string_view part : parts) {
    const std::string_view left = part.substr(std::min(taken, part.size()));
    taken -= part.size() - left.size();
    if (left.empty()) continue;
    if (!parts_.buffers.allow_bytes(left.size())) {
      return break_stream(id, "too much is kept for those who read slowly", ResetCode::Limit);
    }
    stream.kept.append(left);
    count_kept(stream);
  }
}

// What the string has room for is what it costs.
void Link::State::count_kept(Stream& stream) {
  stream.kept_bytes.set(stream.kept.empty() ? 0 : stream.kept.capacity());
}

void Link::State::on_accepted(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->waiter == nullptr) return;
  Waiter& waiter = *std::exchange(stream->waiter, nullptr);
  waiter.outcome = absl::OkStatus();
  waiter.done.cancel();
  attach(id, *stream, std::move(*waiter.end));
}

void Link::State::attach(StreamId id, Stream& stream, std::unique_ptr<StreamEnd> end) {
  stream.end = std::move(end);
  stream.end->attached(link_, id);
  ready(id);
  if (!stream.kept.empty() || stream.end_came) room(id);
}

void Link::State::on_end(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->end_came = true;
  if (stream->end) push_kept(id, *stream);
}

void Link::State::push_kept(StreamId id, Stream& stream) {
  if (stream.kept_from < stream.kept.size()) {
    const ssize_t taken = stream.end->push(std::string_view(stream.kept).substr(stream.kept_from));
    if (taken < 0) return break_stream(id, "the connection behind it broke");
    stream.kept_from += static_cast<size_t>(taken);
    session_.consumed(id, static_cast<size_t>(taken), now_);
    if (stream.kept_from < stream.kept.size()) return trim(stream);
    stream.kept = {};
    stream.kept_from = 0;
    count_kept(stream);
  }
  if (!stream.end_came || stream.end_told) return;
  stream.end_told = true;
  stream.end->push_end();
  end_if_over(id, stream);
}

// Moves what is left to the front when that is less than what is gone.
void Link::State::trim(Stream& stream) {
  if (stream.kept_from < stream.kept.size() / 2) return;
  stream.kept.erase(0, stream.kept_from);
  stream.kept_from = 0;
}

void Link::State::on_reset(const ResetCame& reset) {
  const auto found = streams_.find(reset.stream);
  if (found == streams_.end()) return;
  const std::unique_ptr<Stream> stream = std::move(found->second);
  streams_.erase(found);
  if (stream->waiter != nullptr) {
    stream->waiter->outcome = refused(reset.code, reset.why);
    stream->waiter->done.cancel();
  }
  if (!stream->end) return;
  stream->end->reset(reset.code, reset.why);
  buried_.push_back(std::move(stream->end));
  schedule_work();
}

void Link::State::end_if_over(StreamId id, Stream& stream) {
  if (!stream.end_sent || !stream.end_told) return;
  buried_.push_back(std::move(stream.end));
  streams_.erase(id);
  schedule_work();
}

// The end is of no use any more; the peer is told.
void Link::State::break_stream(StreamId id, std::string_view why, ResetCode code) {
  Stream* stream = find(id);
  session_.reset(id, code, why);
  if (stream->end && code != ResetCode::Broken) stream->end->reset(code, why);
  if (stream->end) buried_.push_back(std::move(stream->end));
  streams_.erase(id);
  schedule_work();
}

void Link::State::drop_streams(const Status& why) {
  Streams streams = std::exchange(streams_, {});
  for (auto& [id, stream] : streams) {
    if (stream->waiter != nullptr) {
      stream->waiter->outcome = refused(ResetCode::Broken, "the tunnel ended");
      stream->waiter->done.cancel();
    }
    if (!stream->end) continue;
    stream->end->reset(ResetCode::Broken, std::string(why.message()));
    buried_.push_back(std::move(stream->end));
  }
}

Link::State::Streams Link::State::take_whole() {
  Streams whole;
  for (auto& [id, stream] : streams_) {
    if (stream->end && stream->end_came && stream->end_sent) whole[id] = std::move(stream);
  }
  std::erase_if(streams_, [](const auto& entry) { return entry.second == nullptr; });
  return whole;
}

Link::State::Stream* Link::State::find(StreamId id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

}  // namespace holdfast::tunnel
