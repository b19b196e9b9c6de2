#ifndef FEEDMILL_CORE_WIRE_CONTROL_CODEC_H_
#define FEEDMILL_CORE_WIRE_CONTROL_CODEC_H_

#include "core/wire/field_reader.h"
#include "core/wire/field_writer.h"
#include "core/wire/message.h"

// Bodies of all messages except Frame. Private to core/wire.

namespace feedmill::wire {

Body Put(Builder& builder, const ClientHello& hello);
Body Put(Builder& builder, const ClientBeat& beat);
Body Put(Builder& builder, const ClientAnswer& answer);
Body Put(Builder& builder, const ClientReject& reject);
Body Put(Builder& builder, const ClientLeave& leave);
Body Put(Builder& builder, const WorkerBeat& beat);
Body Put(Builder& builder, const WorkerAnswer& answer);
Body Put(Builder& builder, const StatusRequest& request);
Body Put(Builder& builder, const StatusReply& reply);
Body Put(Builder& builder, const Refusal& refusal);
Body Put(Builder& builder, const DatasetRequest& request);
Body Put(Builder& builder, const DatasetReply& reply);
Body Put(Builder& builder, const Grant& grant);
Body Put(Builder& builder, const ShareRequest& request);
Body Put(Builder& builder, const ShareOffer& offer);
Body Put(Builder& builder, const Relay& relay);  // without its parts

// REQUIRES: the tables were verified. Errors are stored in `reader`.
ClientHello Read(FieldReader& reader, const fb::ClientHello& hello);
ClientBeat Read(FieldReader& reader, const fb::ClientBeat& beat);
ClientAnswer Read(FieldReader& reader, const fb::ClientAnswer& answer);
ClientReject Read(FieldReader& reader, const fb::ClientReject& reject);
ClientLeave Read(FieldReader& reader, const fb::ClientLeave& leave);
WorkerBeat Read(FieldReader& reader, const fb::WorkerBeat& beat);
WorkerAnswer Read(FieldReader& reader, const fb::WorkerAnswer& answer);
StatusRequest Read(FieldReader& reader, const fb::StatusRequest& request);
StatusReply Read(FieldReader& reader, const fb::StatusReply& reply);
Refusal Read(FieldReader& reader, const fb::Refusal& refusal);
DatasetRequest Read(FieldReader& reader, const fb::DatasetRequest& request);
DatasetReply Read(FieldReader& reader, const fb::DatasetReply& reply);
Grant Read(FieldReader& reader, const fb::Grant& grant);
ShareRequest Read(FieldReader& reader, const fb::ShareRequest& request);
ShareOffer Read(FieldReader& reader, const fb::ShareOffer& offer);
Relay Read(FieldReader& reader, const fb::Relay& relay);  // without its parts

}  // namespace feedmill::wire

#endif  // FEEDMILL_CORE_WIRE_CONTROL_CODEC_H_
