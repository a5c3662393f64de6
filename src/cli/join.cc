// holdfast join: a node's first certificate for a token.
#include <fmt/format.h>

#include <filesystem>

#include "base/bytes.h"
#include "base/private_file.h"
#include "cli/document.h"
#include "cli/identity_commands.h"
#include "cli/introduction.h"
#include "cli/output.h"
#include "cli/reasons.h"
#include "cli/secrets.h"
#include "cli/times.h"
#include "identity/certificate.h"

namespace holdfast::cli {
namespace {

std::string node_role(const std::string& certificate_pem) {
  const Result<identity::Identity> found = identity::identity_of(certificate_pem);
  return std::string(found.ok() ? identity::to_string(found->role) : "node");
}

// identity.pem last: a node without it has not joined.
Status write_identity(const std::string& folder, const v1::Credentials& credentials,
                      const std::string& private_key_pem, const std::string& server) {
  TRY_OK(make_private_folder(folder));
  Document node("node");
  node.set_text("role", node_role(credentials.certificate_pem()));
  node.set_text("name", credentials.name());
  node.set_text("zone", credentials.zone());
  node.set_text("cluster", credentials.cluster());
  node.set_text("server", server);
  TRY_OK(write_private_file(folder + "/ca.pem", credentials.ca_pem()));
  TRY_OK(write_private_file(folder + "/node.yaml", node.yaml()));
  return write_private_file(folder + "/identity.pem",
                            private_key_pem + credentials.certificate_pem());
}

v1::JoinRequest join_request(const JoinOptions& options, const std::string& token,
                             const std::string& request_pem) {
  v1::JoinRequest request;
  request.set_token(token);
  request.set_name(options.name);
  request.set_zone(options.zone);
  request.set_request_pem(request_pem);
  for (const std::string& host : options.hosts) request.add_hosts(host);
  return request;
}

// Before anything is sent: a token is not spent on an identity that cannot be kept.
std::expected<std::string, Failure> prepare_folder(const JoinOptions& options) {
  if (options.data_dir.empty()) {
    return std::unexpected(
        Failure{Exit::Usage, "HF6010", "the data folder is not known", "name it with --data-dir"});
  }
  const std::string folder = options.data_dir + "/identity";
  if (std::filesystem::exists(folder + "/identity.pem") && !options.replace) {
    return std::unexpected(Failure{
        Exit::Failed, "HF5039", fmt::format("{} holds an identity already", in_quotes(folder, 256)),
        std::string(find_reason("HF5039")->next)});
  }
  const Status made = make_private_folder(folder);
  if (!made.ok()) {
    return std::unexpected(Failure{Exit::BadInput, "HF6001", std::string(made.message()), ""});
  }
  return folder;
}

Exit join_refused(const Session& session, const JoinOptions& options, const Status& why) {
  Failure failure = explain(why, session.client.asked());
  if (absl::IsInvalidArgument(why) && options.name.empty()) {
    failure.next = "name the node with --name NAME, or use a token that was made with --name";
  }
  return session.console.report(failure);
}

}  // namespace

Exit join(const Console& console, const JoinOptions& options) {
  const auto folder = prepare_folder(options);
  if (!folder) return console.report(folder.error());
  const auto token = read_secret({.file = options.token_file,
                                  .variable = "HOLDFAST_TOKEN",
                                  .prompt = "Token: ",
                                  .file_option = "--token-file"});
  if (!token) return console.report(token.error());
  const Result<KeyAndRequest> key = make_key_and_request();
  if (!key.ok()) return console.report({Exit::Failed, "HF1099", key.status().ToString(), ""});
  const auto client = introduce(options.introduction);
  if (!client) return console.report(client.error());
  const Session session{console, **client};
  const Result<v1::Credentials> joined = session.client.identity(
      &IdentityCalls::Join, join_request(options, *token, key->request_pem));
  if (!joined.ok()) return join_refused(session, options, joined.status());
  const Status written =
      write_identity(*folder, *joined, key->private_key_pem, session.client.server());
  if (!written.ok()) {
    return console.report(
        {Exit::Failed, "HF6001", std::string(written.message()),
         "one use of the token is spent; make room, then join again, with a new token if that "
         "was the last"});
  }
  print_out(fmt::format("{}/{}\n", node_role(joined->certificate_pem()), joined->name()));
  const Result<identity::Validity> validity = identity::validity_of(joined->certificate_pem());
  print_err(fmt::format(
      "Joined cluster {}; the identity is in {} and expires {}.\n", joined->cluster(), *folder,
      validity.ok() ? relative(validity->not_after, SystemClock().wall_now()) : "some time"));
  return Exit::Ok;
}

}  // namespace holdfast::cli
