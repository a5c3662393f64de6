// holdfast user: people who may log in.
#include <fmt/format.h>

#include <cstdlib>

#include "base/bytes.h"
#include "base/private_file.h"
#include "cli/identity_commands.h"
#include "cli/introduction.h"
#include "cli/output.h"
#include "cli/secrets.h"
#include "cli/times.h"
#include "identity/password.h"
#include "identity/permissions.h"
#include "resource/registry.h"
#include "resource/validation.h"

namespace holdfast::cli {
namespace {

constexpr const char* kPassword = "HOLDFAST_PASSWORD";

Status send_password(Client& client, const std::string& user, const std::string& old_password,
                     const std::string& new_password) {
  v1::SetPasswordRequest request;
  request.set_user(user);
  request.set_old_password(old_password);
  request.set_new_password(new_password);
  return client.identity(&IdentityCalls::SetPassword, request).status();
}

// Whoever changes the own password must know it.
Result<bool> is_own(Client& client, const std::string& user) {
  TRY(const v1::WhoAmIResponse me, client.identity(&IdentityCalls::WhoAmI, v1::WhoAmIRequest()));
  return me.role() == "user" && me.name() == user;
}

// A role that does not exist grants nothing; it may be made later.
void warn_of_unknown_roles(Client& client, const std::vector<std::string>& roles) {
  for (const std::string& role : roles) {
    const bool built_in = identity::builtin_role(role).rules_size() > 0;
    v1::GetRequest request;
    request.set_kind(std::string(resource::info(resource::Kind::Role).name));
    request.set_name(role);
    if (built_in || !absl::IsNotFound(client.get(request).status())) continue;
    print_err(fmt::format("warning: there is no role {}; it grants nothing until there is\n",
                          in_quotes(role)));
  }
}

Exit create_without_password(const Session& session, const UserOptions& options) {
  v1::WriteRequest request;
  *request.mutable_resource() = resource::make_resource(resource::Kind::User, options.name);
  v1::User& user = *request.mutable_resource()->mutable_user();
  for (const std::string& role : options.roles) user.add_roles(role);
  const Status valid = resource::validate(request.resource());
  if (!valid.ok()) return session.failed(valid);
  const Result<v1::Resource> created = session.client.create(request);
  if (!created.ok()) return session.failed(created.status());
  print_out(fmt::format("user/{} created\n", options.name));
  warn_of_unknown_roles(session.client, options.roles);
  return Exit::Ok;
}

}  // namespace

Exit create_user(const Session& session, const UserOptions& options) {
  const bool with_password = !options.password_file.empty() || std::getenv(kPassword) != nullptr;
  std::expected<std::string, Failure> password;
  if (with_password) {
    password = read_secret(
        {.file = options.password_file, .variable = kPassword, .file_option = "--password-file"});
    if (!password) return session.console.report(password.error());
    const Status good = identity::check_password(*password);
    if (!good.ok()) {
      return session.console.report({Exit::BadInput, "HF6010", std::string(good.message()),
                                     "nothing was changed; choose another password"});
    }
  }
  const Exit created = create_without_password(session, options);
  if (created != Exit::Ok) return created;
  if (!with_password) {
    print_err(fmt::format("No password yet. Next: holdfast user password {}\n", options.name));
    return Exit::Ok;
  }
  const Status set = send_password(session.client, options.name, "", *password);
  if (set.ok()) return Exit::Ok;
  Failure failure = explain(set, session.client.asked());
  failure.message = fmt::format("the user was made, but has no password: {}", failure.message);
  failure.next = fmt::format("set it with `holdfast user password {}`", options.name);
  return session.console.report(failure);
}

Exit set_password(const Session& session, const UserOptions& options) {
  const Result<bool> own = is_own(session.client, options.name);
  if (!own.ok()) return session.failed(own.status());
  std::string old_password;
  if (*own) {
    const auto old = read_secret({.file = options.old_password_file,
                                  .variable = "HOLDFAST_OLD_PASSWORD",
                                  .prompt = "Old password: ",
                                  .file_option = "--old-password-file"});
    if (!old) return session.console.report(old.error());
    old_password = *old;
  }
  const auto password = read_secret({.file = options.password_file,
                                     .variable = kPassword,
                                     .prompt = "New password: ",
                                     .confirm = "Again: ",
                                     .file_option = "--password-file"});
  if (!password) return session.console.report(password.error());
  const Status set = send_password(session.client, options.name, old_password, *password);
  if (!set.ok()) return session.failed(set);
  print_out(fmt::format("user/{} has a new password\n", options.name));
  return Exit::Ok;
}

Exit issue_user(const Session& session, const UserOptions& options) {
  const Result<KeyAndRequest> key = make_key_and_request();
  if (!key.ok()) {
    return session.console.report({Exit::Failed, "HF1099", key.status().ToString(), ""});
  }
  v1::IssueUserRequest request;
  request.set_user(options.name);
  request.set_request_pem(key->request_pem);
  *request.mutable_ttl() = to_proto(options.ttl);
  const Result<v1::Credentials> issued =
      session.client.identity(&IdentityCalls::IssueUser, request);
  if (!issued.ok()) return session.failed(issued.status());
  const Status written =
      write_private_file(options.out, key->private_key_pem + issued->certificate_pem());
  if (!written.ok()) {
    return session.console.report({Exit::BadInput, "HF6001", std::string(written.message()), ""});
  }
  print_err(fmt::format(
      "Key and certificate of {} are in {}; they expire {}.\n"
      "Next, as {}: holdfast login SERVER --pin PIN --identity {}\n",
      options.name, options.out, relative(to_wall(issued->expires()), SystemClock().wall_now()),
      options.name, options.out));
  return Exit::Ok;
}

}  // namespace holdfast::cli
