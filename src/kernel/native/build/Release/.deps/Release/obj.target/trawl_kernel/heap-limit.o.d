cmd_Release/obj.target/trawl_kernel/heap-limit.o := ccache g++ -o Release/obj.target/trawl_kernel/heap-limit.o ../heap-limit.cc '-DNODE_GYP_MODULE_NAME=trawl_kernel' '-DUSING_UV_SHARED=1' '-DUSING_V8_SHARED=1' '-DV8_DEPRECATION_WARNINGS=1' '-D_GLIBCXX_USE_CXX11_ABI=1' '-D_FILE_OFFSET_BITS=64' '-D_LARGEFILE_SOURCE' '-D__STDC_FORMAT_MACROS' '-DOPENSSL_NO_PINSHARED' '-DOPENSSL_THREADS' '-DNAPI_VERSION=8' '-DBUILDING_NODE_EXTENSION' -I/usr/include/node -I/usr/src -I/usr/deps/openssl/config -I/usr/deps/openssl/openssl/include -I/usr/deps/uv/include -I/usr/deps/zlib -I/usr/deps/v8/include  -fPIC -pthread -Wall -Wextra -Wno-unused-parameter -m64 -O3 -fno-omit-frame-pointer -fno-rtti -std=c++20 -O3 -Wall -Wextra -fvisibility=hidden -fno-rtti -MMD -MF ./Release/.deps/Release/obj.target/trawl_kernel/heap-limit.o.d.raw   -c
Release/obj.target/trawl_kernel/heap-limit.o: ../heap-limit.cc \
 ../heap-limit.h /usr/include/node/node_api.h \
 /usr/include/node/js_native_api.h \
 /usr/include/node/js_native_api_types.h \
 /usr/include/node/node_api_types.h ../answers.h ../arguments.h \
 ../bytes.h ../stop-flags.h /usr/include/node/node.h \
 /usr/include/node/v8.h /usr/include/node/cppgc/common.h \
 /usr/include/node/v8config.h /usr/include/node/v8-array-buffer.h \
 /usr/include/node/v8-local-handle.h /usr/include/node/v8-internal.h \
 /usr/include/node/v8-version.h /usr/include/node/v8config.h \
 /usr/include/node/v8-object.h /usr/include/node/v8-maybe.h \
 /usr/include/node/v8-persistent-handle.h \
 /usr/include/node/v8-weak-callback-info.h \
 /usr/include/node/v8-primitive.h /usr/include/node/v8-data.h \
 /usr/include/node/v8-value.h /usr/include/node/v8-traced-handle.h \
 /usr/include/node/v8-container.h /usr/include/node/v8-context.h \
 /usr/include/node/v8-snapshot.h /usr/include/node/v8-date.h \
 /usr/include/node/v8-debug.h /usr/include/node/v8-script.h \
 /usr/include/node/v8-callbacks.h /usr/include/node/v8-promise.h \
 /usr/include/node/v8-message.h /usr/include/node/v8-exception.h \
 /usr/include/node/v8-extension.h /usr/include/node/v8-external.h \
 /usr/include/node/v8-function.h /usr/include/node/v8-function-callback.h \
 /usr/include/node/v8-template.h /usr/include/node/v8-memory-span.h \
 /usr/include/node/v8-initialization.h /usr/include/node/v8-isolate.h \
 /usr/include/node/v8-embedder-heap.h /usr/include/node/v8-microtask.h \
 /usr/include/node/v8-statistics.h /usr/include/node/v8-unwinder.h \
 /usr/include/node/v8-embedder-state-scope.h \
 /usr/include/node/v8-platform.h /usr/include/node/v8-json.h \
 /usr/include/node/v8-locker.h /usr/include/node/v8-microtask-queue.h \
 /usr/include/node/v8-primitive-object.h /usr/include/node/v8-proxy.h \
 /usr/include/node/v8-regexp.h /usr/include/node/v8-typed-array.h \
 /usr/include/node/v8-value-serializer.h /usr/include/node/v8-wasm.h \
 /usr/include/node/node_version.h /usr/include/node/node_api.h \
 /usr/include/node/v8.h
../heap-limit.cc:
../heap-limit.h:
/usr/include/node/node_api.h:
/usr/include/node/js_native_api.h:
/usr/include/node/js_native_api_types.h:
/usr/include/node/node_api_types.h:
../answers.h:
../arguments.h:
../bytes.h:
../stop-flags.h:
/usr/include/node/node.h:
/usr/include/node/v8.h:
/usr/include/node/cppgc/common.h:
/usr/include/node/v8config.h:
/usr/include/node/v8-array-buffer.h:
/usr/include/node/v8-local-handle.h:
/usr/include/node/v8-internal.h:
/usr/include/node/v8-version.h:
/usr/include/node/v8config.h:
/usr/include/node/v8-object.h:
/usr/include/node/v8-maybe.h:
/usr/include/node/v8-persistent-handle.h:
/usr/include/node/v8-weak-callback-info.h:
/usr/include/node/v8-primitive.h:
/usr/include/node/v8-data.h:
/usr/include/node/v8-value.h:
/usr/include/node/v8-traced-handle.h:
/usr/include/node/v8-container.h:
/usr/include/node/v8-context.h:
/usr/include/node/v8-snapshot.h:
/usr/include/node/v8-date.h:
/usr/include/node/v8-debug.h:
/usr/include/node/v8-script.h:
/usr/include/node/v8-callbacks.h:
/usr/include/node/v8-promise.h:
/usr/include/node/v8-message.h:
/usr/include/node/v8-exception.h:
/usr/include/node/v8-extension.h:
/usr/include/node/v8-external.h:
/usr/include/node/v8-function.h:
/usr/include/node/v8-function-callback.h:
/usr/include/node/v8-template.h:
/usr/include/node/v8-memory-span.h:
/usr/include/node/v8-initialization.h:
/usr/include/node/v8-isolate.h:
/usr/include/node/v8-embedder-heap.h:
/usr/include/node/v8-microtask.h:
/usr/include/node/v8-statistics.h:
/usr/include/node/v8-unwinder.h:
/usr/include/node/v8-embedder-state-scope.h:
/usr/include/node/v8-platform.h:
/usr/include/node/v8-json.h:
/usr/include/node/v8-locker.h:
/usr/include/node/v8-microtask-queue.h:
/usr/include/node/v8-primitive-object.h:
/usr/include/node/v8-proxy.h:
/usr/include/node/v8-regexp.h:
/usr/include/node/v8-typed-array.h:
/usr/include/node/v8-value-serializer.h:
/usr/include/node/v8-wasm.h:
/usr/include/node/node_version.h:
/usr/include/node/node_api.h:
/usr/include/node/v8.h:
