// A controller with an authority: its ports with TLS are open, and users get certificates from it.
#pragma once

#include <string>
#include <vector>

#include "e2e/controller_process.h"
#include "rpc/channel.h"

namespace holdfast::test {

// At a controller's unix socket. The first makes the authority and returns its certificates; the
// second makes the user if there is none of this name, and a certificate for it.
std::string init_cluster(const std::string& unix_server);
struct NewUser {
  std::string name;
  std::vector<std::string> roles;
};
rpc::TlsOptions make_certificate(const std::string& unix_server, const std::string& ca_pem,
                                 const NewUser& user);

class ClusterProcess : public ControllerProcess {
 public:
  // Serves with TLS when it returns.
  explicit ClusterProcess(Arguments arguments = {});

  // Makes the user if there is none of this name, and a certificate for it.
  rpc::TlsOptions certificate_for(const std::string& user, const std::vector<std::string>& roles);
  // Of a user who may do everything; the same one each time.
  const rpc::TlsOptions& admin() const { return admin_; }
  // A certificate of nobody: the server's is checked, the client shows none.
  rpc::TlsOptions nobody() const;

 private:
  std::string ca_pem_;
  rpc::TlsOptions admin_;
};

// For tests that ask faster than one identity may by default.
Arguments without_rate_limit();

}  // namespace holdfast::test
