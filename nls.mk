# Messages that gettext translates: see CONTRIBUTING.md.
CATALOG_NAME     = clocktiming
AVAIL_LANGUAGES  = de
GETTEXT_FILES    = $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c))
GETTEXT_TRIGGERS = $(BACKEND_COMMON_GETTEXT_TRIGGERS) GUC_check_errdetail gettext_noop \
	progress_report:3 warn_of_events:2 warn_of_steps:4 warn_no_effect:2 get_number:6 arg_choice:6
GETTEXT_FLAGS    = $(BACKEND_COMMON_GETTEXT_FLAGS) GUC_check_errdetail:1:c-format progress_report:3:c-format

# The server was built where msgfmt was; here it may be missing, and then there are no translations.
ifeq ($(shell command -v $(firstword $(MSGFMT) msgfmt) 2>/dev/null),)
WANTED_LANGUAGES = none
endif
