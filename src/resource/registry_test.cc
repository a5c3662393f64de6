#include "resource/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "resource/field_path.h"

namespace holdfast::resource {
namespace {

using google::protobuf::FieldDescriptor;
using testing::ElementsAre;
using testing::HasSubstr;

const google::protobuf::OneofDescriptor& body() {
  return *v1::Resource::descriptor()->FindOneofByName("body");
}

TEST(Registry, HasOneRowForEachMemberOfTheBodyInItsOrder) {
  ASSERT_EQ(static_cast<size_t>(body().field_count()), all_kinds().size())
      << "a kind was added to resource.proto: add it to kind.h and registry.cc";
  for (int i = 0; i < body().field_count(); ++i) {
    EXPECT_EQ(all_kinds()[static_cast<size_t>(i)].name, body().field(i)->name());
  }
}

TEST(Registry, EveryRowIsComplete) {
  for (const KindInfo& row : all_kinds()) {
    EXPECT_FALSE(row.plural.empty()) << row.name;
    EXPECT_FALSE(row.columns.empty()) << row.name;
    EXPECT_NE(row.validate_body, nullptr) << row.name;
  }
}

TEST(Registry, EveryColumnAndSecretNamesAFieldThatExists) {
  for (int i = 0; i < body().field_count(); ++i) {
    const auto& type = *body().field(i)->message_type();
    const KindInfo& row = info(static_cast<Kind>(i));
    for (const Column& column : row.columns) {
      const std::string_view path = column.path.substr(column.path.find('.') + 1);
      const bool in_metadata = column.path.starts_with("metadata.");
      EXPECT_TRUE(is_field(in_metadata ? *v1::Metadata::descriptor() : type, path)) << column.path;
    }
    for (const std::string_view path : row.secret_paths) {
      EXPECT_TRUE(is_field(type, path)) << row.name << ": " << path;
    }
  }
}

TEST(Registry, NoSpellingMeansTwoKinds) {
  std::set<std::string_view> spellings;
  for (const KindInfo& row : all_kinds()) {
    EXPECT_TRUE(spellings.insert(row.name).second) << row.name;
    EXPECT_TRUE(spellings.insert(row.plural).second) << row.plural;
    for (const auto name : row.short_names) EXPECT_TRUE(spellings.insert(name).second) << name;
  }
}

TEST(Registry, FindsAKindByAnySpelling) {
  for (const char* spelling : {"networking_config", "networking-config", "networkingConfig",
                               "NetworkingConfigs", "networking-configs", "netconf"}) {
    const auto kind = find_kind(spelling);

    ASSERT_TRUE(kind.ok()) << spelling;
    EXPECT_EQ(*kind, Kind::NetworkingConfig) << spelling;
  }
  EXPECT_EQ(*find_kind("svc"), Kind::Service);
  EXPECT_EQ(*find_kind("px"), Kind::Proxy);
}

TEST(Registry, SuggestsTheNearestKind) {
  const Status status = find_kind("servcie").status();

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean \"service\"?"));
}

TEST(Registry, RefusesWhatIsNoKindAtAll) {
  EXPECT_FALSE(find_kind("").ok());
  EXPECT_FALSE(find_kind("-_-").ok());
  EXPECT_FALSE(find_kind(std::string(1 << 20, 's')).ok());
  EXPECT_FALSE(find_kind(std::string_view("a\0b", 3)).ok());
}

TEST(Registry, KnowsTheKindOfAResourceByItsBody) {
  for (size_t i = 0; i < kKindCount; ++i) {
    const auto kind = static_cast<Kind>(i);

    const v1::Resource resource = make_resource(kind, "web");

    EXPECT_EQ(kind_of(resource), kind);
    EXPECT_EQ(resource.kind(), info(kind).name);
    EXPECT_EQ(resource.metadata().name(), "web");
  }
  EXPECT_EQ(kind_of(v1::Resource()), std::nullopt);
  EXPECT_EQ(body_of(v1::Resource()), nullptr);
}

TEST(Registry, StoreKeysReadBack) {
  const std::string key = store_key(Kind::Service, "web-1.example");

  EXPECT_EQ(key, "/service/web-1.example");
  EXPECT_EQ(kind_prefix(Kind::Service), "/service/");
  EXPECT_EQ(parse_store_key(key), (StoreKey{Kind::Service, "web-1.example"}));
}

TEST(Registry, RefusesForeignStoreKeys) {
  for (const char* key : {"", "/", "service/web", "/service", "/service/", "/services/web",
                          "/gateway/web", "/service/a/b", "/service/..", "//web"}) {
    EXPECT_EQ(parse_store_key(key), std::nullopt) << key;
  }
}

TEST(KindSet, HoldsEachKindOnce) {
  KindSet set{Kind::Agent, Kind::Service, Kind::Agent};
  set.insert(Kind::CertAuthority);
  set.erase(Kind::Agent);

  EXPECT_EQ(set.size(), 2u);
  EXPECT_TRUE(set.contains(Kind::CertAuthority));
  EXPECT_FALSE(set.contains(Kind::Agent));
  EXPECT_THAT(set.kinds(), ElementsAre(Kind::Service, Kind::CertAuthority));
}

TEST(KindSet, JoinsMeetsAndSubtracts) {
  constexpr KindSet kA{Kind::Agent, Kind::Service};
  constexpr KindSet kB{Kind::Service, Kind::Role};

  EXPECT_EQ(kA & kB, KindSet{Kind::Service});
  EXPECT_EQ((kA | kB).size(), 3u);
  EXPECT_EQ(kA - kB, KindSet{Kind::Agent});
  EXPECT_EQ(KindSet::all().size(), kKindCount);
  EXPECT_TRUE(KindSet().empty());
}

TEST(FieldPath, ShowsWhatAListingShows) {
  v1::Resource web = make_resource(Kind::Service, "web");
  (*web.mutable_metadata()->mutable_labels())["tier"] = "front";
  (*web.mutable_metadata()->mutable_labels())["app"] = "web";
  for (const uint32_t number : {80u, 443u}) {
    auto* port = web.mutable_service()->add_ports();
    port->set_port(number);
    port->set_protocol(v1::PROTOCOL_HTTP);
  }

  EXPECT_EQ(cell_text(web, "metadata.name"), "web");
  EXPECT_EQ(cell_text(web, "metadata.labels"), "app=web,tier=front");
  EXPECT_EQ(cell_text(web, "metadata.expires"), "");
  EXPECT_EQ(cell_text(web, "spec.ports.port"), "80,443");
  EXPECT_EQ(cell_text(web, "spec.ports.protocol"), "http,http");
  EXPECT_EQ(cell_text(web, "spec.nothing.like.it"), "");
}

TEST(FieldPath, ShowsWhetherANodeIsThere) {
  for (const Kind kind : {Kind::Controller, Kind::Proxy, Kind::Agent}) {
    EXPECT_EQ(info(kind).columns.front().header, "STATE");
    EXPECT_EQ(cell_text(make_resource(kind, "n"), "spec.announcement"), "") << "never announced";
  }
  v1::Resource agent = make_resource(Kind::Agent, "e1");
  v1::Announcement& announcement = *agent.mutable_agent()->mutable_announcement();
  announcement.mutable_ttl()->set_seconds(60);

  EXPECT_EQ(cell_text(agent, "spec.announcement"), "online");
  EXPECT_EQ(cell_text(agent, "spec.announcement.certificate_expires"), "");

  announcement.mutable_offline_since()->set_seconds(1'700'000'000);
  announcement.mutable_certificate_expires()->set_seconds(1'700'000'000);
  EXPECT_EQ(cell_text(agent, "spec.announcement"), "offline since 2023-11-14T22:13:20Z");
  EXPECT_EQ(cell_text(agent, "spec.announcement.certificate_expires"), "2023-11-14T22:13:20Z");
}

TEST(FieldPath, RemovesEverySecretAndNothingElse) {
  v1::Resource authority = make_resource(Kind::CertAuthority, "main");
  for (int i = 0; i < 2; ++i) {
    auto* key = authority.mutable_cert_authority()->add_keys();
    key->set_certificate_pem("certificate");
    key->set_private_key_pem("secret");
  }
  v1::Resource token = make_resource(Kind::Token, "t");
  token.mutable_token()->set_hash("secret");
  v1::Resource user = make_resource(Kind::User, "u");
  user.mutable_user()->set_password_hash("secret");

  for (const v1::Resource& resource : {authority, token, user}) {
    EXPECT_THAT(without_secrets(resource).SerializeAsString(), testing::Not(HasSubstr("secret")));
  }
  EXPECT_EQ(without_secrets(authority).cert_authority().keys(1).certificate_pem(), "certificate");
}

TEST(FieldPath, ASecretThatIsLeftOutIsTakenFromWhatIsStored) {
  v1::Resource user = make_resource(Kind::User, "ann");
  user.mutable_user()->set_password_hash("stored");
  v1::Resource authority = make_resource(Kind::CertAuthority, "ca");
  for (const char* certificate : {"first", "second"}) {
    v1::CertAuthorityKey& key = *authority.mutable_cert_authority()->add_keys();
    key.set_certificate_pem(certificate);
    key.set_private_key_pem(std::string("key of ") + certificate);
  }
  v1::Resource replaced = without_secrets(authority);
  replaced.mutable_cert_authority()->mutable_keys(0)->set_certificate_pem("third");
  v1::Resource other = without_secrets(user);
  other.mutable_user()->set_password_hash("new");

  EXPECT_EQ(with_secrets_of(user, without_secrets(user)).user().password_hash(), "stored");
  EXPECT_EQ(with_secrets_of(user, other).user().password_hash(), "new");
  const v1::Resource filled = with_secrets_of(authority, replaced);
  EXPECT_EQ(filled.cert_authority().keys(0).private_key_pem(), "") << "of another certificate";
  EXPECT_EQ(filled.cert_authority().keys(1).private_key_pem(), "key of second");
  EXPECT_EQ(with_secrets_of(user, authority).cert_authority().keys_size(), 2);
}

}  // namespace
}  // namespace holdfast::resource
