#include "ha/witness_link_service.h"

#include <utility>

#include "base/log.h"
#include "ha/wire.h"
#include "rpc/call.h"

namespace holdfast::ha {

using WitnessCalls = v1::Witness::StubInterface::async_interface;

WitnessLinkService::WitnessLinkService(const Clock& clock, WitnessLinkOptions options)
    : clock_(clock), options_(std::move(options)), heard_(clock.now()) {}

void WitnessLinkService::set_tls(rpc::TlsOptions tls) {
  rpc::ChannelOptions how{.tls = std::move(tls)};
  how.connect_timeout = options_.timeout;
  how.longest_reconnect_wait = options_.timeout;
  // A machine that is gone is found out before it is needed.
  how.keepalive_interval = std::chrono::seconds(10);
  stub_ = v1::Witness::NewStub(rpc::make_channel(options_.address, how));
}

asio::awaitable<Result<WitnessAnswer>> WitnessLinkService::ask(std::optional<RecordChange> wanted) {
  if (stub_ == nullptr) co_return absl::UnavailableError("this half has no certificate yet");
  Result<WitnessAnswer> answer = wanted ? co_await change(*std::move(wanted)) : co_await read();
  note(answer.status());
  co_return answer;
}

asio::awaitable<Result<WitnessAnswer>> WitnessLinkService::read() {
  CO_TRY(const v1::WitnessRecord found,
         co_await rpc::call(*stub_->async(), &WitnessCalls::ReadRecord, v1::ReadRecordRequest(),
                            {.timeout = options_.timeout}));
  CO_TRY(Record current, from_proto(found));
  co_return WitnessAnswer{.accepted = false, .current = std::move(current)};
}

asio::awaitable<Result<WitnessAnswer>> WitnessLinkService::change(RecordChange wanted) {
  CO_TRY(const v1::ChangeRecordResponse answer,
         co_await rpc::call(*stub_->async(), &WitnessCalls::ChangeRecord, to_proto(wanted),
                            {.timeout = options_.timeout}));
  CO_TRY(Record current, from_proto(answer.current()));
  log::info(
      "asked the witness to change its record",
      {{"epoch", wanted.record.epoch}, {"accepted", answer.accepted()}, {"why", answer.why()}});
  co_return WitnessAnswer{.accepted = answer.accepted(), .current = std::move(current)};
}

void WitnessLinkService::note(const Status& status) {
  if (status.ok() != failure_.ok()) {
    if (status.ok()) log::info("the witness answers", {{"address", options_.address}});
    if (!status.ok()) {
      log::warn("the witness does not answer",
                {{"address", options_.address}, {"why", status.ToString()}});
    }
  }
  failure_ = status;
  if (status.ok()) {
    heard_ = clock_.now();
    was_heard_ = true;
  }
  unanswered_ += status.ok() ? 0 : 1;
}

}  // namespace holdfast::ha
