#include "api/identity_service.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include "api/presence_entry.h"
#include "api/resource_service.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/reason.h"
#include "identity/rotation.h"
#include "resource/proto_time.h"
#include "resource/text_rules.h"
#include "resource/validation.h"

namespace holdfast::api {
namespace {

using identity::Identity;
using identity::Role;
using resource::Kind;
using store::Operation;
using store::Precondition;

constexpr int kAttempts = 5;
constexpr auto kAuthorityLife = std::chrono::hours(24 * 365 * 10);

template <size_t kBytes>
std::array<uint8_t, kBytes> random_bytes() {
  std::array<uint8_t, kBytes> bytes;
  HF_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1,
           "the system gives random bytes");
  return bytes;
}

Kind presence_kind(Role role) {
  if (role == Role::Controller) return Kind::Controller;
  return role == Role::Proxy ? Kind::Proxy : Kind::Agent;
}

Status check_name(std::string_view field, const std::string& name) {
  const std::optional<std::string> wrong = resource::wrong_name(name);
  if (!wrong) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: {}", field, *wrong));
}

Result<identity::SigningKey> make_authority_key(const std::string& cluster, WallTime now) {
  return identity::make_authority(
      cluster, {.not_before = now - std::chrono::minutes(5), .not_after = now + kAuthorityLife});
}

// Between what is sensible and what is allowed; `usual` if nothing was asked for.
Result<Duration> ttl_within(bool given, const google::protobuf::Duration& asked, Duration usual,
                            Duration most) {
  if (!given) return std::min(usual, most);
  const Duration ttl = resource::to_duration(asked);
  if (ttl >= std::chrono::seconds(1) && ttl <= most) return ttl;
  return absl::InvalidArgumentError(fmt::format("ttl: {} is out of range; use 1s to {}",
                                                to_short_string(ttl), to_short_string(most)));
}

}  // namespace

IdentityService::IdentityService(Parts parts, IdentityOptions options)
    : store_(parts.store),
      gate_(parts.gate),
      audit_(parts.audit),
      authority_(parts.authority),
      clock_(parts.clock),
      options_(options),
      logins_(options.logins) {}

IdentityService::~IdentityService() {
  passwords_.join();
}

asio::awaitable<Result<v1::Resource>> IdentityService::read(Kind kind, std::string name) {
  CO_TRY(const store::Item item, co_await store_.get(resource::store_key(kind, name)));
  co_return decode_item(item);
}

asio::awaitable<Result<store::Revision>> IdentityService::write(v1::Resource wanted) {
  Operation operation;
  operation.key = resource::store_key(*resource::kind_of(wanted), wanted.metadata().name());
  operation.revision = wanted.metadata().revision();
  operation.precondition = operation.revision == 0 ? Precondition::Absent : Precondition::Revision;
  wanted.mutable_metadata()->clear_revision();
  CO_TRY_OK(resource::validate(wanted));
  if (wanted.metadata().has_expires()) {
    operation.expires = resource::to_wall_time(wanted.metadata().expires());
  }
  operation.value = wanted.SerializeAsString();
  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  co_return co_await store_.commit(std::move(operations));
}

asio::awaitable<Result<v1::Authority>> IdentityService::init(Caller caller,
                                                             v1::InitRequest request) {
  CO_TRY_OK(check_name("cluster", request.cluster()));
  Result<v1::Resource> stored = co_await read(Kind::CertAuthority, std::string(kAuthorityName));
  if (!stored.ok() && !absl::IsNotFound(stored.status())) co_return stored.status();
  if (!stored.ok()) {
    CO_TRY(const identity::SigningKey key,
           make_authority_key(request.cluster(), clock_.wall_now()));
    v1::Resource made = resource::make_resource(Kind::CertAuthority, kAuthorityName);
    *made.mutable_cert_authority() =
        identity::first_authority(request.cluster(), key, clock_.wall_now());
    const Result<store::Revision> written = co_await write(made);
    if (!written.ok() && !absl::IsAlreadyExists(written.status())) co_return written.status();
    if (written.ok()) audit_.change(record_of(caller, "init", "cert_authority/cluster"));
    stored = co_await read(Kind::CertAuthority, std::string(kAuthorityName));
    CO_TRY_OK(stored.status());
  }
  if (stored->cert_authority().cluster() != request.cluster()) {
    co_return coded(absl::StatusCode::kAlreadyExists, "HF5014",
                    fmt::format("this controller already belongs to the cluster {}",
                                in_quotes(stored->cert_authority().cluster())));
  }
  // At once, so that the caller's next command finds the listeners open.
  store::Change change;
  change.item.key = resource::store_key(Kind::CertAuthority, kAuthorityName);
  change.item.value = stored->SerializeAsString();
  change.item.revision = stored->metadata().revision();
  authority_.on_change(change);
  co_return authority_.facts();
}

asio::awaitable<Result<v1::Authority>> IdentityService::get_authority(
    Caller /*caller*/, v1::GetAuthorityRequest /*request*/) {
  co_return authority_.facts();
}

asio::awaitable<Result<v1::CreateTokenResponse>> IdentityService::create_token(
    Caller caller, v1::CreateTokenRequest request) {
  CO_TRY_OK(authority_.authority().status());
  CO_TRY(const Duration ttl,
         ttl_within(request.has_ttl(), request.ttl(), options_.token_ttl, options_.max_token_ttl));
  if (request.uses() > options_.max_token_uses) {
    co_return absl::InvalidArgumentError(
        fmt::format("uses: {} is too many; use 1 to {}", request.uses(), options_.max_token_uses));
  }
  const identity::TokenText made = identity::make_token(random_bytes<20>());
  v1::Resource token = resource::make_resource(Kind::Token, made.id);
  token.mutable_token()->set_role(request.role());
  token.mutable_token()->set_zone(request.zone());
  token.mutable_token()->set_node_name(request.node_name());
  token.mutable_token()->set_hash(identity::hash_token(made.text));
  token.mutable_token()->set_uses_left(std::max(1U, request.uses()));
  *token.mutable_metadata()->mutable_expires() =
      resource::to_proto(clock_.wall_now() + std::chrono::duration_cast<WallTime::duration>(ttl));
  CO_TRY(const store::Revision revision, co_await write(token));
  audit_.change(record_of(caller, "create", "token/" + made.id));
  v1::CreateTokenResponse response;
  response.set_secret(made.text);
  token.mutable_metadata()->set_revision(revision);
  token.mutable_token()->clear_hash();
  *response.mutable_token() = std::move(token);
  co_return response;
}

asio::awaitable<Result<v1::Credentials>> IdentityService::join(Caller caller,
                                                               v1::JoinRequest request) {
  Result<v1::Credentials> joined = absl::AbortedError("");
  // A token that someone else uses at the same time is read again.
  for (int i = 0; i < kAttempts && absl::IsAborted(joined.status()); ++i) {
    joined = co_await join_with_token(request);
  }
  if (joined.ok()) {
    audit_.change(record_of(caller, "join", joined->name()));
    co_return joined;
  }
  co_return gate_.refuse(caller, "join", request.name(), joined.status());
}

asio::awaitable<Result<v1::Credentials>> IdentityService::join_with_token(
    const v1::JoinRequest& request) {
  CO_TRY(const identity::TokenText shown, identity::parse_token(request.token()));
  const Result<v1::Resource> token = co_await read(Kind::Token, shown.id);
  if (absl::IsNotFound(token.status())) {
    co_return coded(absl::StatusCode::kUnauthenticated, "HF5005",
                    "the token is unknown, used up, revoked or expired; ask for a new one");
  }
  CO_TRY_OK(token.status());
  CO_TRY(const identity::JoinAs as,
         identity::check_token(*token, shown, {.name = request.name(), .zone = request.zone()},
                               clock_.wall_now()));
  const Role role = identity::from_node_role(token->token().role());
  CO_TRY_OK(check_hosts(request.hosts(), role));
  if (token->token().node_name().empty()) CO_TRY_OK(co_await check_name_is_free(role, as.name));
  AuthorityService::Ask ask{.identity = {.role = role, .name = as.name, .zone = as.zone},
                            .hosts = {request.hosts().begin(), request.hosts().end()},
                            .request_pem = request.request_pem(),
                            .ttl = options_.node_certificate_ttl};
  CO_TRY(v1::Credentials made, authority_.issue(ask));
  // Signed, but not given out before the token is used up.
  CO_TRY_OK(co_await use_up(*token));
  co_return made;
}

// A token for any name must not be a way to become a node that is already there.
asio::awaitable<Status> IdentityService::check_name_is_free(Role role, const std::string& name) {
  if (role == Role::Witness) co_return absl::OkStatus();
  const Result<v1::Resource> node = co_await read(presence_kind(role), name);
  if (absl::IsNotFound(node.status())) co_return absl::OkStatus();
  CO_TRY_OK(node.status());
  co_return coded(absl::StatusCode::kAlreadyExists, "HF5015",
                  "a node of this name has joined before; use a token made for this name, or "
                  "delete the old entry");
}

asio::awaitable<Status> IdentityService::use_up(v1::Resource token) {
  const uint32_t left = token.token().uses_left();
  if (left > 1) {
    token.mutable_token()->set_uses_left(left - 1);
    const Result<store::Revision> written = co_await write(std::move(token));
    co_return written.status();
  }
  Operation operation;
  operation.type = Operation::Type::Delete;
  operation.key = resource::store_key(Kind::Token, token.metadata().name());
  operation.precondition = Precondition::Revision;
  operation.revision = token.metadata().revision();
  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  const Result<store::Revision> removed = co_await store_.commit(std::move(operations));
  // Gone means that someone else was faster: the next try says so.
  if (absl::IsNotFound(removed.status())) co_return absl::AbortedError("the token was used");
  co_return removed.status();
}

Status IdentityService::check_hosts(const google::protobuf::RepeatedPtrField<std::string>& hosts,
                                    Role role) const {
  if (hosts.empty()) return absl::OkStatus();
  if (role != Role::Controller && role != Role::Proxy) {
    return absl::InvalidArgumentError("hosts: only controllers and proxies have any");
  }
  if (static_cast<size_t>(hosts.size()) > options_.max_hosts) {
    return absl::InvalidArgumentError(fmt::format("hosts: at most {}", options_.max_hosts));
  }
  for (const std::string& host : hosts) {
    const bool reserved = host == "holdfast" || host.ends_with(".holdfast");
    const bool ip = !resource::wrong_ip(host);
    if (reserved || (!ip && resource::wrong_address(host + ":1"))) {
      return absl::InvalidArgumentError(
          fmt::format("hosts: {} is not a host name or address a node may have", in_quotes(host)));
    }
  }
  return absl::OkStatus();
}

// A node that returns first says what it trusts and uses: else rotation, which no longer waits for
// who has been away for a certificate's life, could meet a certificate it knows nothing of.
// Controllers announce themselves in the store, and a witness is in no list.
asio::awaitable<Status> IdentityService::check_present(const Identity& who) {
  if (who.role != Role::Proxy && who.role != Role::Agent) co_return absl::OkStatus();
  const Result<v1::Resource> node = co_await read(presence_kind(who.role), who.name);
  if (!node.ok() && !absl::IsNotFound(node.status())) co_return node.status();
  const std::optional<health::Presence> presence = node.ok() ? presence_of(*node) : std::nullopt;
  if (presence && !presence->offline) co_return absl::OkStatus();
  co_return coded(absl::StatusCode::kFailedPrecondition, "HF5016",
                  "announce first: only a node that is online renews its certificate");
}

asio::awaitable<Result<v1::Credentials>> IdentityService::renew(Caller caller,
                                                                v1::RenewRequest request) {
  CO_TRY_OK(check_hosts(request.hosts(), caller.identity.role));
  CO_TRY_OK(co_await check_present(caller.identity));
  AuthorityService::Ask ask{.identity = caller.identity,
                            .hosts = {request.hosts().begin(), request.hosts().end()},
                            .request_pem = request.request_pem(),
                            .ttl = options_.node_certificate_ttl};
  Result<v1::Credentials> renewed = authority_.issue(ask);
  if (renewed.ok()) audit_.change(record_of(caller, "renew", identity::to_string(caller.identity)));
  co_return renewed;
}

asio::awaitable<Result<std::vector<v1::Resource>>> IdentityService::all_nodes() {
  std::vector<v1::Resource> nodes;
  for (const Kind kind : {Kind::Controller, Kind::Proxy, Kind::Agent}) {
    store::KeyRange range = store::prefix_range(resource::kind_prefix(kind));
    for (bool more = true; more;) {
      CO_TRY(const store::RangeResult found, co_await store_.range({range, 1'000}));
      for (const store::Item& item : found.items) {
        CO_TRY(v1::Resource node, decode_item(item));
        nodes.push_back(std::move(node));
      }
      more = found.more && !found.items.empty();
      if (more) range.begin = found.items.back().key + '\0';
    }
  }
  co_return nodes;
}

asio::awaitable<Result<v1::RotateResponse>> IdentityService::rotate(Caller caller,
                                                                    v1::RotateRequest request) {
  CO_TRY(v1::Resource stored, co_await read(Kind::CertAuthority, std::string(kAuthorityName)));
  CO_TRY(const std::vector<v1::Resource> nodes, co_await all_nodes());
  const WallTime now = clock_.wall_now();
  identity::RotationStep step{.action = request.action(),
                              .cut_off_laggards = request.cut_off_laggards()};
  if (step.action == v1::ROTATE_ACTION_START) {
    CO_TRY(step.new_key, make_authority_key(stored.cert_authority().cluster(), now));
  }
  v1::RotateResponse response;
  if (step.action == v1::ROTATE_ACTION_UNSPECIFIED) {  // how things stand
    for (std::string& node : identity::laggards(stored.cert_authority(), nodes, now)) {
      response.add_laggards(std::move(node));
    }
    CO_TRY(*response.mutable_authority(), facts_of(stored.cert_authority()));
    co_return response;
  }
  CO_TRY(const identity::Rotated rotated,
         identity::rotate(stored.cert_authority(), nodes, step, now));
  for (const std::string& node : rotated.laggards) response.add_laggards(node);
  CO_TRY(*response.mutable_authority(), facts_of(rotated.authority));
  if (request.dry_run()) co_return response;
  *stored.mutable_cert_authority() = rotated.authority;
  CO_TRY(const store::Revision revision, co_await write(stored));
  audit_.change(record_of(caller, "rotate",
                          fmt::format("cert_authority/{} {}", kAuthorityName,
                                      v1::RotationPhase_Name(rotated.authority.phase()))));
  store::Change change;
  change.item.key = resource::store_key(Kind::CertAuthority, kAuthorityName);
  change.item.value = stored.SerializeAsString();
  change.item.revision = revision;
  authority_.on_change(change);
  co_return response;
}

asio::awaitable<Result<v1::WhoAmIResponse>> IdentityService::who_am_i(
    Caller caller, v1::WhoAmIRequest /*request*/) {
  v1::WhoAmIResponse response;
  const Identity& who = caller.identity;
  response.set_role(std::string(identity::to_string(who.role)));
  response.set_name(who.name);
  response.set_zone(who.zone);
  for (const std::string& role : who.user_roles) response.add_user_roles(role);
  if (who.role != Role::Local) *response.mutable_expires() = resource::to_proto(caller.expires);
  const Result<v1::CertAuthority> authority = authority_.authority();
  if (authority.ok()) response.set_cluster(authority->cluster());
  co_return response;
}

}  // namespace holdfast::api
