# The Debian packages that tools/package makes with CPack, one for each component.
# FEEDMILL_PACKAGE (preset package) also installs what belongs to a system: units,
# their configuration, Debian's documents. Without it `cmake --install` does not.
option(FEEDMILL_PACKAGE "Configure CPack for Debian packages, and install what belongs to them" OFF)
if(NOT FEEDMILL_PACKAGE)
  return()
endif()
if(NOT TARGET feedmill OR NOT TARGET feedmill_shared)
  message(FATAL_ERROR "FEEDMILL_PACKAGE needs the command and BUILD_SHARED_LIBS=ON")
endif()

set(debian ${PROJECT_SOURCE_DIR}/deploy/debian)
set(release 1)
set(exactly "(= ${PROJECT_VERSION}-${release})")
set(runtime libfeedmill${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(maintainer "feedmill maintainers <maintainers@feedmill.example>")

set(changelog ${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/debian)
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/debian_changelog ${PROJECT_VERSION} ${release} ${changelog}
  --maintainer ${maintainer} COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/tools/debian_changelog)

# feedmill_debian(COMPONENT PACKAGE SECTION s DEPENDS "a, b" SUMMARY s DESCRIPTION d
# [RECOMMENDS s] [SUGGESTS s] [COPYRIGHT file] [CONTROL files] [OVERRIDES lines]): the package of a
# component. OVERRIDES are tags of lintian that it must not report, with reasons.
macro(feedmill_debian component package)
  cmake_parse_arguments(DEB "" "SECTION;DEPENDS;RECOMMENDS;SUGGESTS;SUMMARY;DESCRIPTION;COPYRIGHT" "CONTROL;OVERRIDES"
    ${ARGN})
  if(NOT DEB_COPYRIGHT)
    set(DEB_COPYRIGHT ${debian}/copyright)
  endif()
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${DEB_SECTION})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${DEB_DEPENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${DEB_RECOMMENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS "${DEB_SUGGESTS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${DEB_CONTROL}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${DEB_SUMMARY}\n${DEB_DESCRIPTION}")
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/${package})
  install(FILES ${DEB_COPYRIGHT} DESTINATION ${documents} RENAME copyright COMPONENT ${component})
  install(FILES ${changelog} DESTINATION ${documents} COMPONENT ${component})
  list(JOIN DEB_OVERRIDES "\n" overrides)
  file(WRITE ${PROJECT_BINARY_DIR}/debian/overrides/${package}
    "# The package is not uploaded to Debian.\ninitial-upload-closes-no-bugs\n${overrides}\n")
  install(FILES ${PROJECT_BINARY_DIR}/debian/overrides/${package} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
    COMPONENT ${component})
endmacro()

set(CPACK_COMPONENTS_ALL "")
set(about "feedmill reads, decodes and batches input data of machine learning on other
machines than the trainer's. Batches come exactly once and in the same order,
whatever crashes.")

feedmill_debian(command feedmill SECTION science DEPENDS adduser RECOMMENDS ca-certificates
  SUGGESTS "feedmill-arrow, feedmill-tokenizers, python3-feedmill"
  SUMMARY "input data service for machine learning" DESCRIPTION "${about}
.
This package has the command feedmill, and units of systemd for a dispatcher
and its workers, which are not enabled."
  CONTROL ${debian}/feedmill/postinst ${debian}/feedmill/prerm ${debian}/feedmill/postrm ${debian}/feedmill/conffiles)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/feedmill-dispatcher.service
  ${PROJECT_SOURCE_DIR}/deploy/systemd/feedmill-worker@.service DESTINATION lib/systemd/system COMPONENT command)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/dispatcher.yaml ${PROJECT_SOURCE_DIR}/deploy/systemd/worker.yaml
  DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/feedmill COMPONENT command)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/feedmill COMPONENT command
  FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.svg")
# Debian wants manual pages compressed; tools/CMakeLists.txt has installed them.
install(CODE "
  file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/man/man1/feedmill*.1\")
  execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)
  file(RENAME \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/site-functions\"
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions\")"
  COMPONENT command)

file(WRITE ${PROJECT_BINARY_DIR}/debian/${runtime}/shlibs
  "libfeedmill ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} ${runtime} (>= ${PROJECT_VERSION})\n")
file(WRITE ${PROJECT_BINARY_DIR}/debian/${runtime}/triggers "activate-noawait ldconfig\n")
feedmill_debian(library ${runtime} SECTION libs
  SUMMARY "input data service for machine learning - library" DESCRIPTION "${about}
.
This package has the library that C++ programs with feedmill's interface load."
  CONTROL ${PROJECT_BINARY_DIR}/debian/${runtime}/shlibs ${PROJECT_BINARY_DIR}/debian/${runtime}/triggers
  OVERRIDES "# CPack writes these scripts, beside the trigger that does the same." "maintscript-calls-ldconfig *")

feedmill_debian(development libfeedmill-dev SECTION libdevel DEPENDS "${runtime} ${exactly}, libabsl-dev"
  SUMMARY "input data service for machine learning - development files" DESCRIPTION "${about}
.
This package has the headers of the C++ interface and the CMake package
feedmill, whose target feedmill::feedmill is the shared library.")

if(TARGET _feedmill)
  execute_process(COMMAND ${FEEDMILL_PYTHON_INTERPRETER} -c "import sys; print(sys.version_info.minor)"
    OUTPUT_VARIABLE minor OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  math(EXPR next "${minor} + 1")
  feedmill_debian(python3 python3-feedmill SECTION python
    DEPENDS "python3 (>= 3.${minor}), python3 (<< 3.${next}), python3-numpy"
    RECOMMENDS ca-certificates SUGGESTS "feedmill-arrow, python3-cloudpickle"
    SUMMARY "input data service for machine learning - Python 3 module" DESCRIPTION "${about}
.
This package has the module feedmill for Debian's Python 3."
    CONTROL ${debian}/python3-feedmill/postinst ${debian}/python3-feedmill/prerm)
  set(modules lib/python3/dist-packages)
  # The backend of nanobind is a module of its own where the wheel has several.
  foreach(module _feedmill _nanobind_3${minor})
    if(TARGET ${module})
      install(TARGETS ${module} LIBRARY DESTINATION ${modules}/feedmill COMPONENT python3 EXCLUDE_FROM_ALL)
    endif()
  endforeach()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/feedmill DESTINATION ${modules} COMPONENT python3 EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
  # For pip, and for importlib.metadata.
  file(WRITE ${PROJECT_BINARY_DIR}/debian/METADATA "Metadata-Version: 2.1\nName: feedmill\nVersion: ${PROJECT_VERSION}\n")
  file(WRITE ${PROJECT_BINARY_DIR}/debian/INSTALLER "debian\n")
  install(FILES ${PROJECT_BINARY_DIR}/debian/METADATA ${PROJECT_BINARY_DIR}/debian/INSTALLER
    DESTINATION ${modules}/feedmill-${PROJECT_VERSION}.dist-info COMPONENT python3 EXCLUDE_FROM_ALL)
endif()

if(TARGET feedmill_arrow)
  feedmill_debian(arrow feedmill-arrow SECTION science DEPENDS "feedmill ${exactly} | python3-feedmill ${exactly}"
    SUMMARY "input data service for machine learning - Parquet and Arrow files" DESCRIPTION "${about}
.
This package has the plugin that reads Parquet and Arrow files, gs:// and
az:// URLs, and AWS profiles. It brings the libraries of Apache Arrow, which
Debian does not have."
    COPYRIGHT ${debian}/copyright.arrow
    OVERRIDES "# Debian has no Apache Arrow. The libraries of the wheel pyarrow hold what they need." "embedded-library *")
  set(folder ${CMAKE_INSTALL_LIBDIR}/feedmill)
  foreach(name arrow parquet s3)
    if(TARGET arrow::${name})
      get_target_property(library arrow::${name} IMPORTED_LOCATION)
      get_filename_component(file ${library} NAME)
      execute_process(COMMAND ${CMAKE_STRIP} --strip-unneeded -o ${PROJECT_BINARY_DIR}/debian/${file} ${library}
        COMMAND_ERROR_IS_FATAL ANY)
      install(FILES ${PROJECT_BINARY_DIR}/debian/${file} DESTINATION ${folder}/arrow COMPONENT arrow)
    endif()
  endforeach()
  set_target_properties(feedmill_arrow PROPERTIES INSTALL_RPATH "$ORIGIN/arrow")
  file(GLOB licenses ${FEEDMILL_ARROW}/../pyarrow-*.dist-info/licenses)
  foreach(text LICENSE NOTICE)
    install(FILES ${licenses}/${text}.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/feedmill-arrow
      RENAME ${text}.arrow.txt COMPONENT arrow)
  endforeach()
endif()

if(FEEDMILL_TOKENIZERS_FOUND)
  feedmill_debian(tokenizers feedmill-tokenizers SECTION science DEPENDS
    "libc6, libgcc-s1, feedmill ${exactly} | python3-feedmill ${exactly}"
    SUMMARY "input data service for machine learning - tokenizers" DESCRIPTION "${about}
.
This package has the plugin for tokenize and detokenize: token ids by
tokenizer.json files of Hugging Face and rank files of tiktoken. Its Rust
libraries are built in."
    COPYRIGHT ${debian}/copyright.tokenizers)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME feedmill)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${maintainer})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)  # some files go to /etc
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${FEEDMILL_ARROW})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# gzip is quicker where packages are only tried. Debian 12's lintian refuses zstd.
set(FEEDMILL_PACKAGE_COMPRESSION xz CACHE STRING "Compression of Debian packages: xz or gzip")
set(CPACK_DEBIAN_COMPRESSION_TYPE ${FEEDMILL_PACKAGE_COMPRESSION})
set(CPACK_THREADS 0)  # of xz: all processors
include(CPack)
