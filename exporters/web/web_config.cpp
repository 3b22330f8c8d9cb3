#include "web_config.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>

#include "bcrypt_hash.h"
#include "fa_profile/error.h"
#include "listen.h"
#include "tls_priorities.h"

namespace fa_profile {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr const char* kSeeDocs = "docs/web-config.md lists what can stand here";

// Header -> its allowed values; none: any.
const std::map<std::string, std::vector<std::string>> kHeaders = {
    {"Content-Security-Policy", {}},
    {"Strict-Transport-Security", {}},
    {"X-Content-Type-Options", {"nosniff"}},
    {"X-Frame-Options", {"deny", "sameorigin"}},
    {"X-XSS-Protection", {}},
};
const std::map<std::string, ClientAuth> kClientAuth = {
    {"NoClientCert", ClientAuth::kNone},
    {"RequestClientCert", ClientAuth::kRequest},
    {"RequireAnyClientCert", ClientAuth::kRequireAny},
    {"RequireClientCert", ClientAuth::kRequireAny},  // exporter-toolkit keeps this older spelling too
    {"VerifyClientCertIfGiven", ClientAuth::kVerifyIfGiven},
    {"RequireAndVerifyClientCert", ClientAuth::kRequireAndVerify},
};

template <typename Map>
std::vector<std::string> Keys(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, _] : map) keys.push_back(key);
  return keys;
}

class ConfigReader {
 public:
  explicit ConfigReader(std::string path) : path_(std::move(path)) {}

  WebConfig Read(const std::string& text) {
    WebConfig config;
    ReadMap(Parse(text), "the web config file",
            {{"tls_server_config", [&](const YAML::Node& node) { config.tls = ReadTls(node); }},
             {"http_server_config", [&](const YAML::Node& node) { ReadHttp(node, config); }},
             {"basic_auth_users", [&](const YAML::Node& node) { ReadUsers(node, config); }},
             {"rate_limit",
              [&](const YAML::Node& node) {
                Fail(node, "rate_limit is not supported", "limit the rate in a proxy, or remove the key");
              },
              Field::kRefused}});
    return config;
  }

 private:
  struct Field {
    enum Kind { kTaken, kRefused };

    std::string key;
    std::function<void(const YAML::Node&)> read;
    Kind kind = kTaken;  // a refused one has an error of its own, and no hint proposes it
  };

  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& message, const std::string& hint) const {
    if (mark.is_null()) throw Error(path_ + ": " + message, hint);
    throw Error(fmt::format("{}:{}:{}: {}", path_, mark.line + 1, mark.column + 1, message), hint);
  }
  [[noreturn]] void Fail(const YAML::Node& node, const std::string& message, const std::string& hint) const {
    Fail(node.Mark(), message, hint);
  }

  YAML::Node Parse(const std::string& text) const {
    RefuseMoreDocuments(text);
    try {
      return YAML::Load(text);
    } catch (const YAML::Exception& problem) {
      Fail(problem.mark, "this is not YAML: " + problem.msg, kSeeDocs);
    }
  }

  // YAML::Load() silently leaves out every document but the first.
  void RefuseMoreDocuments(const std::string& text) const {
    std::istringstream lines(text);
    std::string line;
    bool begun = false;
    for (int number = 1; std::getline(lines, line); ++number) {
      const bool marker = line.starts_with("---") && (line.size() == 3 || std::isspace(line[3]) != 0);
      if (marker && begun)
        throw Error(fmt::format("{}:{}: only one YAML document is expected", path_, number), kSeeDocs);
      begun = begun || marker || (line.find_first_not_of(" \t\r") != std::string::npos && line[0] != '#');
    }
  }

  std::string Text(const YAML::Node& node, const std::string& what) const {
    if (!node.IsScalar()) Fail(node, what + " is expected to be text", kSeeDocs);
    return node.Scalar();
  }

  bool Flag(const YAML::Node& node, const std::string& what) const {
    const std::string text = Text(node, what);
    if (text != "true" && text != "false") Fail(node, what + " is true or false, not '" + text + "'", kSeeDocs);
    return text == "true";
  }

  std::vector<std::string> Texts(const YAML::Node& node, const std::string& what) const {
    if (node.IsNull()) return {};
    if (!node.IsSequence()) Fail(node, what + " is expected to be a list", kSeeDocs);
    std::vector<std::string> texts;
    for (const YAML::Node& item : node) texts.push_back(Text(item, "an item of " + what));
    return texts;
  }

  void ReadEntries(const YAML::Node& node, const std::string& what,
                   const std::function<void(const std::string&, const YAML::Node&, const YAML::Node&)>& read) const {
    if (node.IsNull()) return;
    if (!node.IsMap()) Fail(node, what + " is expected to be a mapping", kSeeDocs);
    std::set<std::string> seen;
    for (const auto& item : node) {
      const std::string key = Text(item.first, "a key");
      if (!seen.insert(key).second) Fail(item.first, "'" + key + "' stands here twice", "keep one of them");
      read(key, item.first, item.second);
    }
  }

  void ReadMap(const YAML::Node& node, const std::string& what, const std::vector<Field>& fields) const {
    ReadEntries(node, what, [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.key == key; });
      if (field == fields.end()) {
        std::vector<std::string> known;
        for (const Field& f : fields) {
          if (f.kind == Field::kTaken) known.push_back(f.key);
        }
        Fail(at, "unknown key '" + key + "'" + DidYouMean(key, known),
             fmt::format("{} can have {}", what, fmt::join(known, ", ")));
      }
      field->read(value);
    });
  }

  template <typename Value>
  Value OneOf(const YAML::Node& node, const std::string& what, const std::map<std::string, Value>& values) const {
    const std::string text = Text(node, what);
    const auto found = values.find(text);
    if (found == values.end()) {
      Fail(node, fmt::format("{} is '{}'{}", what, text, DidYouMean(text, Keys(values))),
           fmt::format("it can be {}", fmt::join(Keys(values), ", ")));
    }
    return found->second;
  }

  PemSource File(const YAML::Node& node, const std::string& what) const {
    const std::string name = Text(node, what);
    if (name.empty()) return {};
    return {(std::filesystem::path(path_).parent_path() / name).string(), ""};
  }

  std::optional<TlsConfig> ReadTls(const YAML::Node& node) const {
    TlsConfig tls;
    TlsChoice choice;
    YAML::Node ciphers = node;
    const auto pem = [&](PemSource& source, const char* inline_key, const char* file_key) -> std::vector<Field> {
      const auto once = [&source, this](const YAML::Node& at, PemSource given) {
        if (!source.empty()) Fail(at, "given twice: as text and as a file", "keep one of them");
        source = std::move(given);
      };
      return {{inline_key,
               [=, this](const YAML::Node& n) {
                 once(n, {"", Text(n, inline_key)});
               }},
              {file_key, [=, this](const YAML::Node& n) { once(n, File(n, file_key)); }}};
    };
    std::vector<Field> fields = {
        {"client_auth_type", [&](const YAML::Node& n) { tls.client_auth = OneOf(n, "client_auth_type", kClientAuth); }},
        {"min_version", [&](const YAML::Node& n) { choice.min_version = OneOf(n, "min_version", TlsVersions()); }},
        {"max_version", [&](const YAML::Node& n) { choice.max_version = OneOf(n, "max_version", TlsVersions()); }},
        {"cipher_suites",
         [&](const YAML::Node& n) {
           ciphers.reset(n);
           choice.cipher_suites = Texts(n, "cipher_suites");
         }},
        {"prefer_server_cipher_suites",
         [&](const YAML::Node& n) { choice.prefer_server = Flag(n, "prefer_server_cipher_suites"); }},
        {"curve_preferences", [&](const YAML::Node& n) { choice.curves = Texts(n, "curve_preferences"); }},
        {"client_allowed_sans",
         [this](const YAML::Node& n) {
           Fail(n, "client_allowed_sans is not supported",
                "remove it, and let client_ca_file name a CA that signs for the allowed clients alone");
         },
         Field::kRefused}};
    for (auto& more : {pem(tls.certificate, "cert", "cert_file"), pem(tls.key, "key", "key_file"),
                       pem(tls.client_ca, "client_ca", "client_ca_file")}) {
      fields.insert(fields.end(), more.begin(), more.end());
    }
    if (node.IsNull() || (node.IsMap() && node.size() == 0)) return std::nullopt;
    ReadMap(node, "tls_server_config", fields);
    RequireWhole(node, tls);
    try {
      tls.priorities = TlsPriorities(choice);
    } catch (const Error& problem) {
      Fail(ciphers, problem.message(), problem.hint());
    }
    return tls;
  }

  void RequireWhole(const YAML::Node& node, const TlsConfig& tls) const {
    if (tls.certificate.empty()) {
      Fail(node, "tls_server_config has no cert_file", "name the server's certificate; without TLS remove the section");
    }
    if (tls.key.empty()) Fail(node, "tls_server_config has no key_file", "name the key that belongs to cert_file");
    const bool verifies =
        tls.client_auth == ClientAuth::kVerifyIfGiven || tls.client_auth == ClientAuth::kRequireAndVerify;
    if (verifies && tls.client_ca.empty()) {
      Fail(node, "client_auth_type verifies client certificates and there is no client_ca_file",
           "name the CA certificates that sign for clients");
    }
    if (!tls.client_ca.empty() && tls.client_auth == ClientAuth::kNone) {
      Fail(node, "client_ca_file is given and client_auth_type asks for no client certificate",
           "set client_auth_type: RequireAndVerifyClientCert");
    }
  }

  void ReadHttp(const YAML::Node& node, WebConfig& config) const {
    ReadMap(node, "http_server_config",
            // HTTP/2 is an offer that a server need not make: HTTP/1.1 is all there is here.
            {{"http2", [&](const YAML::Node& n) { (void)Flag(n, "http2"); }},
             {"headers", [&](const YAML::Node& n) { ReadHeaders(n, config); }}});
  }

  void ReadHeaders(const YAML::Node& node, WebConfig& config) const {
    ReadEntries(node, "headers", [&](const std::string& name, const YAML::Node& at, const YAML::Node& node_of_value) {
      const auto known = kHeaders.find(name);
      if (known == kHeaders.end()) {
        Fail(at, "the header '" + name + "' cannot be set here" + DidYouMean(name, Keys(kHeaders)),
             fmt::format("it can be {}", fmt::join(Keys(kHeaders), ", ")));
      }
      if (node_of_value.IsNull()) return;
      const std::string value = Text(node_of_value, name);
      if (value.empty()) return;
      const auto& allowed = known->second;
      if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
        Fail(node_of_value, fmt::format("{} is '{}'", name, value),
             fmt::format("it can be {}", fmt::join(allowed, ", ")));
      }
      if (std::any_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
        Fail(node_of_value, name + " holds a line break or another control character", "write it on one line");
      }
      config.headers.emplace_back(name, value);
    });
  }

  void ReadUsers(const YAML::Node& node, WebConfig& config) const {
    ReadEntries(node, "basic_auth_users", [&](const std::string& user, const YAML::Node& at, const YAML::Node& value) {
      if (user.empty() || user.find(':') != std::string::npos) {
        Fail(at, "'" + user + "' cannot be a user's name: it is empty or has a colon", "choose another name");
      }
      // The message never shows the value: it may well be the password itself.
      const std::string problem = ProblemOfBcryptHash(value.IsScalar() ? value.Scalar() : "");
      if (!problem.empty()) {
        Fail(value, "the hash of user '" + user + "' " + problem, "make one with: htpasswd -nBC 10 '" + user + "'");
      }
      config.users.emplace(user, value.Scalar());
    });
  }

  std::string path_;
};

}  // namespace

WebConfig ParseWebConfig(const std::string& text, const std::string& path) { return ConfigReader(path).Read(text); }

std::string ReadSmallFile(const std::string& path, const std::string& what, const std::string& cure_if_missing) {
  // Not to be held up by a FIFO that nobody writes to.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int code = errno;
    throw Error("open", strerrorname_np(code), fmt::format("cannot read {}, {}: {}", what, path, std::strerror(code)),
                code == EACCES ? "let the user that runs this read it: chown or chmod it, or add the user to its group"
                               : cure_if_missing);
  }
  struct stat about {};
  if (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    throw Error(fmt::format("{}, {}, is not a regular file", what, path), "name a file");
  }
  std::string text(kLargestFile + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error("read", strerrorname_np(errno), fmt::format("cannot read {}, {}", what, path));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kLargestFile) throw Error(fmt::format("{}, {}, is larger than 1 MiB", what, path), "name another file");
  text.resize(size);
  return text;
}

}  // namespace fa_profile
