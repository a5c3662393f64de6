// holdfast login, logout: a profile for the commands after it.
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/private_file.h"
#include "cli/identity_commands.h"
#include "cli/introduction.h"
#include "cli/output.h"
#include "cli/profile.h"
#include "cli/secrets.h"
#include "cli/times.h"
#include "identity/certificate.h"

namespace holdfast::cli {
namespace {

Exit bad_file(const Console& console, const Status& status) {
  return console.report({Exit::BadInput, "HF6001", std::string(status.message()), ""});
}

Exit save(const Console& console, const LoginOptions& options, const Profile& profile) {
  const Status saved = save_profile(options.profile_dir, profile);
  if (!saved.ok()) {
    return console.report({Exit::BadProfile, "HF5036", std::string(saved.message()),
                           "name another folder with --profile"});
  }
  print_out(fmt::format("user/{}\n", profile.user));
  const Result<identity::Validity> validity = identity::validity_of(profile.certificate_pem);
  const std::string expires =
      validity.ok() ? relative(validity->not_after, SystemClock().wall_now()) : "unknown";
  print_err(
      fmt::format("Logged in to cluster {} at {}; the certificate expires {}.\n"
                  "Next: holdfast status\n",
                  profile.cluster, profile.server, expires));
  return Exit::Ok;
}

// With a file that an admin made; the controller only tells whom to trust.
Exit login_by_file(const Session& session, const LoginOptions& options) {
  const Result<std::string> text = read_small_file(options.identity_file);
  if (!text.ok()) return bad_file(session.console, text.status());
  const Result<KeyAndCertificate> parts = split_identity(*text);
  if (!parts.ok()) {
    return bad_file(session.console,
                    annotate(parts.status(), in_quotes(options.identity_file, 256)));
  }
  const Result<identity::Identity> who = identity::identity_of(parts->certificate_pem);
  if (!who.ok()) return bad_file(session.console, who.status());
  const Result<v1::Authority> authority =
      session.client.identity(&IdentityCalls::GetAuthority, v1::GetAuthorityRequest());
  if (!authority.ok()) return session.failed(authority.status());
  return save(session.console, options,
              {.server = session.client.server(),
               .cluster = authority->cluster(),
               .user = who->name,
               .ca_pem = authority->ca_pem(),
               .private_key_pem = parts->private_key_pem,
               .certificate_pem = parts->certificate_pem});
}

Exit login_by_password(const Session& session, const LoginOptions& options,
                       const std::string& password) {
  const Result<KeyAndRequest> key = make_key_and_request();
  if (!key.ok()) {
    return session.console.report({Exit::Failed, "HF1099", key.status().ToString(), ""});
  }
  v1::LoginRequest request;
  request.set_user(options.user);
  request.set_password(password);
  request.set_request_pem(key->request_pem);
  if (options.ttl > Duration::zero()) *request.mutable_ttl() = to_proto(options.ttl);
  const Result<v1::Credentials> credentials =
      session.client.identity(&IdentityCalls::Login, request);
  if (!credentials.ok()) return session.failed(credentials.status());
  return save(session.console, options,
              {.server = session.client.server(),
               .cluster = credentials->cluster(),
               .user = options.user,
               .ca_pem = credentials->ca_pem(),
               .private_key_pem = key->private_key_pem,
               .certificate_pem = credentials->certificate_pem()});
}

}  // namespace

Exit login(const Console& console, const LoginOptions& options) {
  if (options.profile_dir.empty()) {
    return console.report(
        {Exit::Usage, "HF5036", "the profile's folder is not known", "name it with --profile"});
  }
  if (options.user.empty() == options.identity_file.empty()) {
    return console.report({Exit::Usage, "HF6010", "use --user, or --identity with a file", ""});
  }
  std::string password;
  if (!options.user.empty()) {
    const auto secret = read_secret({.file = options.password_file,
                                     .variable = "HOLDFAST_PASSWORD",
                                     .prompt = fmt::format("Password of {}: ", options.user),
                                     .file_option = "--password-file"});
    if (!secret) return console.report(secret.error());
    password = *secret;
  }
  const auto client = introduce(options.introduction);
  if (!client) return console.report(client.error());
  const Session session{console, **client};
  return options.user.empty() ? login_by_file(session, options)
                              : login_by_password(session, options, password);
}

Exit logout(const Console& console, const std::string& profile_dir) {
  const Result<bool> removed = remove_profile(profile_dir);
  if (!removed.ok()) {
    return console.report({Exit::BadProfile, "HF5036", std::string(removed.status().message()),
                           "remove the folder by hand"});
  }
  print_err(*removed ? fmt::format("Logged out: {} is empty.\n", profile_dir)
                     : "There was no profile.\n");
  return Exit::Ok;
}

}  // namespace holdfast::cli
