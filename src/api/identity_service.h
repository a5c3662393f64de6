// Joining, renewing, logging in, tokens, passwords and the authority's rotation: the Identity calls
// once the gate has let the caller in. Every outcome that matters goes to the audit.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <string>
#include <vector>

#include "api/audit_service.h"
#include "api/authority_service.h"
#include "api/gate.h"
#include "holdfast/v1/identity.pb.h"
#include "identity/rate_limit.h"
#include "identity/token.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

struct IdentityOptions {
  Duration node_certificate_ttl = std::chrono::hours(24);
  Duration user_certificate_ttl = std::chrono::hours(12);
  Duration token_ttl = std::chrono::minutes(30);
  Duration max_token_ttl = std::chrono::hours(24 * 7);
  uint32_t max_token_uses = 1'000;
  size_t max_hosts = 16;
  // Guesses of a password: per user and host, and how many may be computed or wait at once.
  identity::RateLimitOptions logins{.per_second = 0.2, .burst = 5, .max_callers = 4'096};
  size_t max_passwords_waiting = 16;
};

class IdentityService {
 public:
  struct Parts {
    store::Store& store;
    Gate& gate;
    AuditService& audit;
    AuthorityService& authority;
    const Clock& clock;
  };
  IdentityService(Parts parts, IdentityOptions options);
  // Waits for a password that is being computed.
  ~IdentityService();

  asio::awaitable<Result<v1::Authority>> init(Caller caller, v1::InitRequest request);
  asio::awaitable<Result<v1::Authority>> get_authority(Caller caller,
                                                       v1::GetAuthorityRequest request);
  asio::awaitable<Result<v1::CreateTokenResponse>> create_token(Caller caller,
                                                                v1::CreateTokenRequest request);
  asio::awaitable<Result<v1::Credentials>> join(Caller caller, v1::JoinRequest request);
  asio::awaitable<Result<v1::Credentials>> renew(Caller caller, v1::RenewRequest request);
  asio::awaitable<Result<v1::Credentials>> login(Caller caller, v1::LoginRequest request);
  asio::awaitable<Result<v1::Credentials>> issue_user(Caller caller, v1::IssueUserRequest request);
  asio::awaitable<Result<v1::SetPasswordResponse>> set_password(Caller caller,
                                                                v1::SetPasswordRequest request);
  asio::awaitable<Result<v1::RotateResponse>> rotate(Caller caller, v1::RotateRequest request);
  asio::awaitable<Result<v1::WhoAmIResponse>> who_am_i(Caller caller, v1::WhoAmIRequest request);

 private:
  // A stored resource and the revision it was read at.
  asio::awaitable<Result<v1::Resource>> read(resource::Kind kind, std::string name);
  // Writes `resource` over exactly the version it was read at, or as a new one.
  asio::awaitable<Result<store::Revision>> write(v1::Resource resource);
  asio::awaitable<Result<v1::Credentials>> join_with_token(const v1::JoinRequest& request);
  asio::awaitable<Status> check_name_is_free(identity::Role role, const std::string& name);
  asio::awaitable<Status> use_up(v1::Resource token);
  asio::awaitable<Status> check_present(const identity::Identity& who);
  asio::awaitable<Result<v1::Resource>> check_login(const Caller& caller, std::string user,
                                                    std::string password);
  asio::awaitable<Result<bool>> verify(std::string password, std::string stored);
  asio::awaitable<Result<std::string>> hash(std::string password);
  asio::awaitable<Result<std::vector<v1::Resource>>> all_nodes();
  Result<v1::Credentials> issue_for_user(const v1::Resource& user, const std::string& request_pem,
                                         Duration ttl);
  Status check_hosts(const google::protobuf::RepeatedPtrField<std::string>& hosts,
                     identity::Role role) const;

  store::Store& store_;
  Gate& gate_;
  AuditService& audit_;
  AuthorityService& authority_;
  const Clock& clock_;
  IdentityOptions options_;
  identity::RateLimit logins_;
  size_t passwords_waiting_ = 0;
  // Passwords take tens of milliseconds each: one thread, away from the loop.
  asio::thread_pool passwords_{1};
};

}  // namespace holdfast::api
