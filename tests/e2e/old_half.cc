#include "e2e/old_half.h"

#include <fstream>
#include <iterator>

#include "base/check.h"
#include "ha/wire.h"
#include "identity/certificate.h"
#include "rpc/channel.h"
#include "store/lineage.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  HF_CHECK(file.good(), "cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

OldHalf::OldHalf(OldHalfOptions options)
    : options_(std::move(options)),
      identity_(text_of(options_.data_dir + "/identity/identity.pem")),
      ca_(text_of(options_.data_dir + "/identity/ca.pem")) {
  beat_.set_member(v1::PAIR_MEMBER_BACKUP);
  beat_.set_state(v1::PAIR_STATE_BACKUP);
  beat_.set_mode(options_.mode);
  beat_.set_store_id(std::string(32, '0'));
  beat_.mutable_head()->set_revision(1);
  beat_.set_name("backup");
  beat_.set_address(options_.listen);
  beat_.set_version(options_.version);
  beat_.set_schema_min(options_.schema_min);
  beat_.set_schema_max(options_.schema_max);
  beat_.set_process("a process of another version");
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = ca_;
  tls.pem_key_cert_pairs.push_back({identity_, identity_});
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options_.listen, grpc::SslServerCredentials(tls));
  builder.RegisterService(this);
  primary_ = v1::Pair::NewStub(rpc::make_channel(
      options_.primary,
      {.tls = rpc::TlsOptions{.ca_pem = ca_,
                              .certificate_pem = identity_,
                              .private_key_pem = identity_,
                              .server_name = std::string(identity::kControllerServerName)}}));
  server_ = builder.BuildAndStart();
  HF_CHECK(server_ != nullptr, "the old half listens");
  follower_ = std::thread([this] { follow_primary(); });
}

OldHalf::~OldHalf() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    if (following_ != nullptr) following_->TryCancel();
  }
  ending_.notify_all();
  server_->Shutdown(std::chrono::system_clock::now() + 1s);
  follower_.join();
}

int64_t OldHalf::revision() {
  const std::lock_guard lock(mutex_);
  return beat_.head().revision();
}

v1::Beat OldHalf::heard() {
  const std::lock_guard lock(mutex_);
  return heard_;
}

bool OldHalf::pause(std::chrono::milliseconds length) {
  std::unique_lock lock(mutex_);
  return !ending_.wait_for(lock, length, [this] { return ends_; });
}

v1::Beat OldHalf::next_beat() {
  const std::lock_guard lock(mutex_);
  beat_.set_number(beat_.number() + 1);
  return beat_;
}

void OldHalf::hear(const v1::Beat& beat) {
  const std::lock_guard lock(mutex_);
  heard_ = beat;
  beat_.set_heard(beat.number());
  beat_.set_heard_process(beat.process());
  if (beat.promised() >= beat_.hands_over()) beat_.set_hands_over(0);
  if (beat.hands_over() > beat_.promised()) {
    beat_.set_state(v1::PAIR_STATE_ACTIVE);
    beat_.set_promised(beat.hands_over());
  } else if (beat.state() == v1::PAIR_STATE_ACTIVE && beat.promised() >= beat_.promised()) {
    beat_.set_state(v1::PAIR_STATE_PASSIVE);
  }
}

bool OldHalf::leads() {
  const auto is_active = [this] {
    const std::lock_guard lock(mutex_);
    return beat_.state() == v1::PAIR_STATE_ACTIVE;
  };
  return eventually(is_active, 20s);
}

v1::ReplicateResponse OldHalf::replicate(const v1::ReplicateRequest& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 10s);
  v1::ReplicateResponse response;
  const grpc::Status status = primary_->Replicate(&context, request, &response);
  return status.ok() ? response : v1::ReplicateResponse();
}

bool OldHalf::remove(const std::string& key) {
  v1::ReplicateRequest request;
  {
    const std::lock_guard lock(mutex_);
    request.set_epoch(beat_.promised());
    request.set_store_id(beat_.store_id());
    *request.mutable_after() = beat_.head();
  }
  v1::PairEntry& entry = *request.add_entries();
  entry.mutable_head()->set_epoch(request.epoch());
  entry.mutable_head()->set_revision(request.after().revision() + 1);
  v1::PairChange& change = *entry.add_changes();
  change.set_removed(true);
  change.set_key(key);
  entry.mutable_head()->set_chain(
      store::chain_after(request.after().chain(), request.epoch(), ha::from_proto(entry).changes));
  const v1::ReplicateResponse taken = replicate(request);
  const std::lock_guard lock(mutex_);
  *beat_.mutable_head() = entry.head();
  return ha::from_proto(taken.head()) == ha::from_proto(entry.head());
}

void OldHalf::hand_over() {
  const std::lock_guard lock(mutex_);
  beat_.set_state(v1::PAIR_STATE_PASSIVE);
  beat_.set_hands_over(beat_.promised() + 1);  // its own are even, the primary's odd
}

grpc::Status OldHalf::Beats(grpc::ServerContext* context, const v1::BeatsRequest* request,
                            grpc::ServerWriter<v1::Beat>* writer) {
  hear(request->first());
  while (!context->IsCancelled() && writer->Write(next_beat()) && pause(options_.beat)) {
  }
  return grpc::Status::OK;
}

grpc::Status OldHalf::Replicate(grpc::ServerContext* /*context*/,
                                const v1::ReplicateRequest* request,
                                v1::ReplicateResponse* response) {
  const std::lock_guard lock(mutex_);
  beat_.set_state(v1::PAIR_STATE_PASSIVE);
  beat_.set_promised(request->epoch());
  if (request->has_copy()) {
    if (request->copy().page() == 0) copied_ = request->copy().head();
    if (request->copy().last()) *beat_.mutable_head() = copied_;
    response->set_next_page(request->copy().page() + 1);
  } else if (!request->entries().empty()) {
    *beat_.mutable_head() = request->entries().rbegin()->head();
  }
  *response->mutable_head() = beat_.head();
  response->set_store_id(beat_.store_id());
  response->set_needs_copy(beat_.head().epoch() == 0);
  return grpc::Status::OK;
}

void OldHalf::follow_primary() {
  do {
    grpc::ClientContext context;
    v1::BeatsRequest request;
    *request.mutable_first() = next_beat();
    const auto stream = primary_->Beats(&context, request);
    {
      const std::lock_guard lock(mutex_);
      following_ = &context;
      if (ends_) context.TryCancel();
    }
    v1::Beat beat;
    while (stream->Read(&beat)) hear(beat);
    (void)stream->Finish();
    const std::lock_guard lock(mutex_);
    following_ = nullptr;
  } while (pause(50ms));
}

}  // namespace holdfast::test
