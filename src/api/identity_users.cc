// The part of IdentityService that is about people: logging in, passwords, certificates by admins.
#include <fmt/format.h>
#include <openssl/rand.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "api/identity_service.h"
#include "base/check.h"
#include "base/reason.h"
#include "identity/password.h"
#include "resource/proto_time.h"

namespace holdfast::api {
namespace {

using identity::Role;
using resource::Kind;

// The same words whatever was wrong: nothing tells a guesser which users there are.
Status login_failed() {
  return coded(absl::StatusCode::kUnauthenticated, "HF5010", "the user or the password is wrong");
}

Status too_many_passwords() {
  return coded(absl::StatusCode::kResourceExhausted, "HF5011",
               "too many logins at once; try again in a moment");
}

template <typename T>
asio::awaitable<T> compute(asio::thread_pool& pool, std::function<T()> work) {
  auto [thrown, result] = co_await asio::co_spawn(
      pool.get_executor(), [work = std::move(work)]() -> asio::awaitable<T> { co_return work(); },
      asio::as_tuple(asio::use_awaitable));
  HF_CHECK(thrown == nullptr, "nothing is thrown while a password is computed");
  co_return std::move(result);
}

}  // namespace

asio::awaitable<Result<bool>> IdentityService::verify(std::string password, std::string stored) {
  if (passwords_waiting_ >= options_.max_passwords_waiting) co_return too_many_passwords();
  passwords_waiting_ += 1;
  const bool right = co_await compute<bool>(
      passwords_, [password = std::move(password), stored = std::move(stored)] {
        return identity::verify_password(password, stored);
      });
  passwords_waiting_ -= 1;
  co_return right;
}

asio::awaitable<Result<std::string>> IdentityService::hash(std::string password) {
  CO_TRY_OK(identity::check_password(password));
  if (passwords_waiting_ >= options_.max_passwords_waiting) co_return too_many_passwords();
  passwords_waiting_ += 1;
  Result<std::string> made =
      co_await compute<Result<std::string>>(passwords_, [password = std::move(password)] {
        std::array<uint8_t, 16> salt;
        HF_CHECK(RAND_bytes(salt.data(), static_cast<int>(salt.size())) == 1,
                 "the system gives random bytes");
        return identity::hash_password(password, salt);
      });
  passwords_waiting_ -= 1;
  co_return made;
}

asio::awaitable<Result<v1::Resource>> IdentityService::check_login(const Caller& caller,
                                                                   std::string user,
                                                                   std::string password) {
  const std::string guesser =
      fmt::format("{}@{}", user.substr(0, 256), caller.source.substr(0, caller.source.rfind(':')));
  if (!logins_.admit(guesser, clock_.now())) {
    co_return coded(absl::StatusCode::kResourceExhausted, "HF5011",
                    "too many logins as this user; wait a few seconds");
  }
  const bool nameable =
      resource::parse_store_key(resource::store_key(Kind::User, user)).has_value();
  Result<v1::Resource> found = absl::NotFoundError("no such user");
  if (nameable) found = co_await read(Kind::User, user);
  if (!found.ok() && !absl::IsNotFound(found.status())) co_return found.status();
  // Someone who does not exist takes as long to be refused.
  const std::string stored = found.ok() ? found->user().password_hash() : "";
  CO_TRY(const bool right, co_await verify(std::move(password), stored));
  if (!right || !found.ok() || found->user().disabled()) co_return login_failed();
  co_return found;
}

Result<v1::Credentials> IdentityService::issue_for_user(const v1::Resource& user,
                                                        const std::string& request_pem,
                                                        Duration ttl) {
  authority_.note_user(user);
  AuthorityService::Ask ask{
      .identity = {.role = Role::User,
                   .name = user.metadata().name(),
                   .user_roles = {user.user().roles().begin(), user.user().roles().end()}},
      .request_pem = request_pem,
      .ttl = ttl};
  return authority_.issue(ask);
}

asio::awaitable<Result<v1::Credentials>> IdentityService::login(Caller caller,
                                                                v1::LoginRequest request) {
  const std::string object = "user/" + request.user();
  const Result<v1::Resource> user =
      co_await check_login(caller, request.user(), request.password());
  if (!user.ok()) co_return gate_.refuse(caller, "login", object, user.status());
  const Duration ttl =
      request.has_ttl() ? resource::to_duration(request.ttl()) : options_.user_certificate_ttl;
  if (ttl < std::chrono::seconds(1) || ttl > options_.user_certificate_ttl) {
    co_return absl::InvalidArgumentError(
        fmt::format("ttl: use 1s to {}", to_short_string(options_.user_certificate_ttl)));
  }
  CO_TRY(v1::Credentials made, issue_for_user(*user, request.request_pem(), ttl));
  audit_.change(record_of(caller, "login", object));
  co_return made;
}

asio::awaitable<Result<v1::Credentials>> IdentityService::issue_user(Caller caller,
                                                                     v1::IssueUserRequest request) {
  const Result<v1::Resource> user = co_await read(Kind::User, request.user());
  if (absl::IsNotFound(user.status())) {
    co_return absl::NotFoundError("there is no such user; make it with `holdfast user create`");
  }
  CO_TRY_OK(user.status());
  if (user->user().disabled()) {
    co_return coded(absl::StatusCode::kFailedPrecondition, "HF5012", "this user is disabled");
  }
  const Duration ttl =
      request.has_ttl() ? resource::to_duration(request.ttl()) : options_.user_certificate_ttl;
  // Longer than a login gives, for machines without a person; not for ever.
  constexpr auto kLongest = std::chrono::hours(24 * 30);
  if (ttl < std::chrono::seconds(1) || ttl > kLongest) {
    co_return absl::InvalidArgumentError("ttl: use 1s to 720h");
  }
  CO_TRY(v1::Credentials made, issue_for_user(*user, request.request_pem(), ttl));
  audit_.change(record_of(caller, "issue", "user/" + request.user()));
  co_return made;
}

asio::awaitable<Result<v1::SetPasswordResponse>> IdentityService::set_password(
    Caller caller, v1::SetPasswordRequest request) {
  const std::string object = "user/" + request.user();
  const bool own = caller.identity.role == Role::User && caller.identity.name == request.user();
  const bool admin = caller.permissions->may_call(caller.identity, identity::Call::IssueUser);
  if (!own && !admin) {
    co_return gate_.refuse(caller, "set-password", object,
                           identity::refused(caller.identity, "set the password of another user"));
  }
  if (own && !admin) {
    const Result<v1::Resource> checked =
        co_await check_login(caller, request.user(), request.old_password());
    if (!checked.ok()) co_return gate_.refuse(caller, "set-password", object, checked.status());
  }
  CO_TRY(std::string made, co_await hash(request.new_password()));
  CO_TRY(v1::Resource user, co_await read(Kind::User, request.user()));
  user.mutable_user()->set_password_hash(std::move(made));
  CO_TRY_OK((co_await write(std::move(user))).status());
  audit_.change(record_of(caller, "set-password", object));
  co_return v1::SetPasswordResponse();
}

}  // namespace holdfast::api
