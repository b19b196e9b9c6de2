/* The one function that a plugin exports to add a resolver. It is plain C, so
 * the plugin's compiler, language and version of feedmill do not matter.
 *
 *   const struct feedmill_resolver_v1* feedmill_resolver_plugin_v1(void);
 *
 * Build it as a shared object, and name its file in the variable
 * FEEDMILL_RESOLVER_PLUGINS (several with ':' between). A next version of this
 * contract will have another name, and this one will stay. */
#ifndef FEEDMILL_RESOLVER_PLUGIN_H_
#define FEEDMILL_RESOLVER_PLUGIN_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct feedmill_resolver_v1 {
  /* "consul" answers for URIs that begin with "consul:". Lower-case letters,
   * digits, '_', '+', '-' and '.', a letter first. */
  const char* scheme;
  /* Looks at the cluster again. `uri` is as the user wrote it, without the
   * parameters job, task, rpc_layer and environment, which feedmill applies.
   * Calls emit(sink, text, size) at most once: on success (return 0) with what
   * `feedmill resolve` prints, YAML or JSON; on failure with a message. Any
   * thread may call, several at a time; it must return within seconds and throw
   * nothing. */
  int (*resolve)(const char* uri,
                 void (*emit)(void* sink, const char* text, size_t size),
                 void* sink);
};

typedef const struct feedmill_resolver_v1* (*feedmill_resolver_plugin_v1_type)(
    void);

#ifdef __cplusplus
}
#endif

#endif /* FEEDMILL_RESOLVER_PLUGIN_H_ */
