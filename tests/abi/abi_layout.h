/* The sizes and offsets of ABI 1.0, as numbers. They are a promise to every plugin that was ever
 * built: a line here never changes, a minor version adds lines. Included by files that compile as
 * C11, C++11 and C++20, because the three must agree. 64-bit only, as Sluice is. */
#ifndef SLUICE_TESTS_ABI_LAYOUT_H
#define SLUICE_TESTS_ABI_LAYOUT_H

#include <sluice/abi.h>

#ifdef __cplusplus
#define ABI_ASSERT static_assert
#else
#define ABI_ASSERT _Static_assert
#endif

#define ABI_SIZE(type, bytes) ABI_ASSERT(sizeof(type) == (bytes), #type)
#define ABI_AT(type, field, bytes) ABI_ASSERT(offsetof(type, field) == (bytes), #type "." #field)

ABI_SIZE(sluice_bytes, 16);
ABI_AT(sluice_bytes, data, 0);
ABI_AT(sluice_bytes, size, 8);

ABI_SIZE(sluice_header, 32);
ABI_AT(sluice_header, name, 0);
ABI_AT(sluice_header, value, 16);

ABI_SIZE(sluice_record, 72);
ABI_AT(sluice_record, key, 0);
ABI_AT(sluice_record, value, 16);
ABI_AT(sluice_record, offset, 32);
ABI_AT(sluice_record, timestamp_ms, 40);
ABI_AT(sluice_record, topic_index, 48);
ABI_AT(sluice_record, partition, 52);
ABI_AT(sluice_record, flags, 56);
ABI_AT(sluice_record, header_count, 60);
ABI_AT(sluice_record, headers, 64);

ABI_SIZE(sluice_batch, 32);
ABI_AT(sluice_batch, size, 0);
ABI_AT(sluice_batch, record_size, 4);
ABI_AT(sluice_batch, slice_id, 8);
ABI_AT(sluice_batch, record_count, 16);
ABI_AT(sluice_batch, flags, 20);
ABI_AT(sluice_batch, records, 24);

ABI_SIZE(sluice_out, 64);
ABI_AT(sluice_out, size, 0);
ABI_AT(sluice_out, source_index, 4);
ABI_AT(sluice_out, key, 8);
ABI_AT(sluice_out, value, 24);
ABI_AT(sluice_out, timestamp_ms, 40);
ABI_AT(sluice_out, flags, 48);
ABI_AT(sluice_out, header_count, 52);
ABI_AT(sluice_out, headers, 56);

ABI_SIZE(sluice_slice, 88);
ABI_AT(sluice_slice, size, 0);
ABI_AT(sluice_slice, attempt, 4);
ABI_AT(sluice_slice, slice_id, 8);
ABI_AT(sluice_slice, job, 16);
ABI_AT(sluice_slice, topic, 32);
ABI_AT(sluice_slice, topic_index, 48);
ABI_AT(sluice_slice, topic_incarnation, 52);
ABI_AT(sluice_slice, partition, 56);
ABI_AT(sluice_slice, lane, 60);
ABI_AT(sluice_slice, epoch, 64);
ABI_AT(sluice_slice, flags, 68);
ABI_AT(sluice_slice, start_offset, 72);
ABI_AT(sluice_slice, end_offset, 80);

ABI_SIZE(sluice_partition, 16);
ABI_AT(sluice_partition, size, 0);
ABI_AT(sluice_partition, topic_index, 4);
ABI_AT(sluice_partition, topic_incarnation, 8);
ABI_AT(sluice_partition, partition, 12);

ABI_SIZE(sluice_error, 48);
ABI_AT(sluice_error, size, 0);
ABI_AT(sluice_error, code, 4);
ABI_AT(sluice_error, message, 8);
ABI_AT(sluice_error, key, 24);
ABI_AT(sluice_error, retry_after_ms, 40);

ABI_SIZE(sluice_config_key, 128);
ABI_AT(sluice_config_key, size, 0);
ABI_AT(sluice_config_key, type, 4);
ABI_AT(sluice_config_key, name, 8);
ABI_AT(sluice_config_key, doc, 16);
ABI_AT(sluice_config_key, default_value, 24);
ABI_AT(sluice_config_key, min, 32);
ABI_AT(sluice_config_key, max, 40);
ABI_AT(sluice_config_key, pattern, 48);
ABI_AT(sluice_config_key, choices, 56);
ABI_AT(sluice_config_key, choice_count, 64);
ABI_AT(sluice_config_key, flags, 68);
ABI_AT(sluice_config_key, group, 72);
ABI_AT(sluice_config_key, order, 80);
ABI_AT(sluice_config_key, importance, 84);
ABI_AT(sluice_config_key, since, 88);
ABI_AT(sluice_config_key, deprecated, 96);
ABI_AT(sluice_config_key, example, 104);
ABI_AT(sluice_config_key, dependents, 112);
ABI_AT(sluice_config_key, dependent_count, 120);
ABI_AT(sluice_config_key, reserved, 124);

ABI_SIZE(sluice_pair, 32);
ABI_AT(sluice_pair, key, 0);
ABI_AT(sluice_pair, value, 16);

ABI_SIZE(sluice_config, 64);
ABI_AT(sluice_config, size, 0);
ABI_AT(sluice_config, reserved, 4);
ABI_AT(sluice_config, context, 8);
ABI_AT(sluice_config, get_string, 16);
ABI_AT(sluice_config, get_int, 24);
ABI_AT(sluice_config, get_float, 32);
ABI_AT(sluice_config, get_bool, 40);
ABI_AT(sluice_config, get_list, 48);
ABI_AT(sluice_config, get_map, 56);

ABI_SIZE(sluice_problems, 24);
ABI_AT(sluice_problems, size, 0);
ABI_AT(sluice_problems, reserved, 4);
ABI_AT(sluice_problems, context, 8);
ABI_AT(sluice_problems, add, 16);

ABI_SIZE(sluice_host, 96);
ABI_AT(sluice_host, size, 0);
ABI_AT(sluice_host, abi_minor, 4);
ABI_AT(sluice_host, context, 8);
ABI_AT(sluice_host, position, 16);
ABI_AT(sluice_host, set_error, 24);
ABI_AT(sluice_host, fail_record, 32);
ABI_AT(sluice_host, emit, 40);
ABI_AT(sluice_host, log, 48);
ABI_AT(sluice_host, slice, 56);
ABI_AT(sluice_host, topic, 64);
ABI_AT(sluice_host, request_flush, 72);
ABI_AT(sluice_host, keep_alive, 80);
ABI_AT(sluice_host, get_extension, 88);

ABI_SIZE(sluice_start, 40);
ABI_AT(sluice_start, size, 0);
ABI_AT(sluice_start, worker_slot, 4);
ABI_AT(sluice_start, config, 8);
ABI_AT(sluice_start, job, 16);
ABI_AT(sluice_start, state_write_version, 32);
ABI_AT(sluice_start, reserved, 36);

ABI_SIZE(sluice_plugin, 96);
ABI_AT(sluice_plugin, size, 0);
ABI_AT(sluice_plugin, reserved, 4);
ABI_AT(sluice_plugin, context, 8);
ABI_AT(sluice_plugin, start, 16);
ABI_AT(sluice_plugin, open, 24);
ABI_AT(sluice_plugin, put, 32);
ABI_AT(sluice_plugin, process, 40);
ABI_AT(sluice_plugin, flush, 48);
ABI_AT(sluice_plugin, rollback, 56);
ABI_AT(sluice_plugin, close, 64);
ABI_AT(sluice_plugin, stop, 72);
ABI_AT(sluice_plugin, destroy, 80);
ABI_AT(sluice_plugin, get_extension, 88);

ABI_SIZE(sluice_preset, 16);
ABI_AT(sluice_preset, key, 0);
ABI_AT(sluice_preset, value, 8);

ABI_SIZE(sluice_alias, 24);
ABI_AT(sluice_alias, size, 0);
ABI_AT(sluice_alias, preset_count, 4);
ABI_AT(sluice_alias, name, 8);
ABI_AT(sluice_alias, presets, 16);

ABI_SIZE(sluice_descriptor, 88);
ABI_AT(sluice_descriptor, size, 0);
ABI_AT(sluice_descriptor, kind, 4);
ABI_AT(sluice_descriptor, name, 8);
ABI_AT(sluice_descriptor, version, 16);
ABI_AT(sluice_descriptor, summary, 24);
ABI_AT(sluice_descriptor, capabilities, 32);
ABI_AT(sluice_descriptor, keys, 40);
ABI_AT(sluice_descriptor, aliases, 48);
ABI_AT(sluice_descriptor, key_count, 56);
ABI_AT(sluice_descriptor, alias_count, 60);
ABI_AT(sluice_descriptor, state_version, 64);
ABI_AT(sluice_descriptor, oldest_state_version, 68);
ABI_AT(sluice_descriptor, create, 72);
ABI_AT(sluice_descriptor, validate, 80);

ABI_SIZE(sluice_module, 40);
ABI_AT(sluice_module, size, 0);
ABI_AT(sluice_module, magic, 4);
ABI_AT(sluice_module, abi_major, 8);
ABI_AT(sluice_module, abi_minor, 12);
ABI_AT(sluice_module, needs_minor, 16);
ABI_AT(sluice_module, plugin_count, 20);
ABI_AT(sluice_module, plugins, 24);
ABI_AT(sluice_module, build, 32);

/* Numbers that cross the boundary. */
ABI_ASSERT(SLUICE_OK == 0, "SLUICE_OK");
ABI_ASSERT(SLUICE_RETRY == 1, "SLUICE_RETRY");
ABI_ASSERT(SLUICE_NOT_CONNECTED == 2, "SLUICE_NOT_CONNECTED");
ABI_ASSERT(SLUICE_FAIL == 3, "SLUICE_FAIL");
ABI_ASSERT(SLUICE_CONFIG == 4, "SLUICE_CONFIG");
ABI_ASSERT(SLUICE_TIMESTAMP_MASK == 0x3, "SLUICE_TIMESTAMP_MASK");
ABI_ASSERT(SLUICE_TIMESTAMP_NONE == 0x0, "SLUICE_TIMESTAMP_NONE");
ABI_ASSERT(SLUICE_TIMESTAMP_CREATE == 0x1, "SLUICE_TIMESTAMP_CREATE");
ABI_ASSERT(SLUICE_TIMESTAMP_LOG_APPEND == 0x2, "SLUICE_TIMESTAMP_LOG_APPEND");
ABI_ASSERT(SLUICE_REASON_ASSIGNED == 0, "SLUICE_REASON_ASSIGNED");
ABI_ASSERT(SLUICE_REASON_MOVED == 1, "SLUICE_REASON_MOVED");
ABI_ASSERT(SLUICE_REASON_STOPPING == 2, "SLUICE_REASON_STOPPING");
ABI_ASSERT(SLUICE_REASON_RESET == 3, "SLUICE_REASON_RESET");
ABI_ASSERT(SLUICE_TYPE_STRING == 1, "SLUICE_TYPE_STRING");
ABI_ASSERT(SLUICE_TYPE_INT == 2, "SLUICE_TYPE_INT");
ABI_ASSERT(SLUICE_TYPE_FLOAT == 3, "SLUICE_TYPE_FLOAT");
ABI_ASSERT(SLUICE_TYPE_BOOL == 4, "SLUICE_TYPE_BOOL");
ABI_ASSERT(SLUICE_TYPE_DURATION == 5, "SLUICE_TYPE_DURATION");
ABI_ASSERT(SLUICE_TYPE_BYTES == 6, "SLUICE_TYPE_BYTES");
ABI_ASSERT(SLUICE_TYPE_ENUM == 7, "SLUICE_TYPE_ENUM");
ABI_ASSERT(SLUICE_TYPE_LIST == 8, "SLUICE_TYPE_LIST");
ABI_ASSERT(SLUICE_TYPE_MAP == 9, "SLUICE_TYPE_MAP");
ABI_ASSERT(SLUICE_TYPE_SECRET == 10, "SLUICE_TYPE_SECRET");
ABI_ASSERT(SLUICE_IMPORTANCE_LOW == 0, "SLUICE_IMPORTANCE_LOW");
ABI_ASSERT(SLUICE_IMPORTANCE_MEDIUM == 1, "SLUICE_IMPORTANCE_MEDIUM");
ABI_ASSERT(SLUICE_IMPORTANCE_HIGH == 2, "SLUICE_IMPORTANCE_HIGH");
ABI_ASSERT(SLUICE_KEY_REQUIRED == 0x1, "SLUICE_KEY_REQUIRED");
ABI_ASSERT(SLUICE_LOG_DEBUG == 0, "SLUICE_LOG_DEBUG");
ABI_ASSERT(SLUICE_LOG_INFO == 1, "SLUICE_LOG_INFO");
ABI_ASSERT(SLUICE_LOG_WARNING == 2, "SLUICE_LOG_WARNING");
ABI_ASSERT(SLUICE_LOG_ERROR == 3, "SLUICE_LOG_ERROR");
ABI_ASSERT(SLUICE_KIND_SINK == 1, "SLUICE_KIND_SINK");
ABI_ASSERT(SLUICE_KIND_PROCESSOR == 2, "SLUICE_KIND_PROCESSOR");
ABI_ASSERT(SLUICE_CAP_STABLE_SLICES == 0x1, "SLUICE_CAP_STABLE_SLICES");
ABI_ASSERT(SLUICE_CAP_TRANSACTION == 0x2, "SLUICE_CAP_TRANSACTION");
ABI_ASSERT(SLUICE_CAP_IDEMPOTENT == 0x4, "SLUICE_CAP_IDEMPOTENT");
ABI_ASSERT(SLUICE_CAP_KEYED_STATE == 0x8, "SLUICE_CAP_KEYED_STATE");
ABI_ASSERT(SLUICE_MAGIC == 0x49554c53u, "SLUICE_MAGIC");
ABI_ASSERT(SLUICE_ABI_MAJOR == 1, "SLUICE_ABI_MAJOR");

#endif
