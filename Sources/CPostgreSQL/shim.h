#pragma once

#include <libpq-fe.h>

/* Swift imports no macro whose value is a character literal. */
static const int bellhop_diag_severity = PG_DIAG_SEVERITY_NONLOCALIZED;
static const int bellhop_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int bellhop_diag_message = PG_DIAG_MESSAGE_PRIMARY;
static const int bellhop_diag_position = PG_DIAG_STATEMENT_POSITION;
static const int bellhop_diag_table = PG_DIAG_TABLE_NAME;
static const int bellhop_diag_constraint = PG_DIAG_CONSTRAINT_NAME;
