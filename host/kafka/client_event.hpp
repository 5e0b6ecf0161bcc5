// What a client says about itself and not about one partition: brokers that went away, refused
// credentials, an answer above the receive limit (cases/open.md B11: librdkafka puts neither the
// record nor an error into the partition's queue then; only this tells). Nothing here is
// rate-limited: a broker that is down speaks at every reconnect, the caller logs one line per
// cause.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::kafka {

enum class ClientEventKind {
  Log,               ///< a warning or error line of the library's log
  BrokerDown,        ///< one connection failed; others may be fine
  AllBrokersDown,    ///< no broker can be reached; reconnecting goes on by itself
  Authentication,    ///< credentials, certificates or rights: only the user can mend it
  ResponseTooLarge,  ///< a Fetch answer above receive.message.max.bytes: its partitions stand still
  Fatal,             ///< the client is unusable and must be made anew
  Other,
};

std::string_view client_event_name(ClientEventKind kind);

struct ClientEvent {
  ClientEventKind kind = ClientEventKind::Other;
  std::string text;
};

using ClientEvents = std::vector<ClientEvent>;

}  // namespace sluice::kafka
