#ifndef CKPTSIM_MODELS_PLAN_CHECK_H
#define CKPTSIM_MODELS_PLAN_CHECK_H

#include "models/plan.h"

/* Resolves what a request leaves open and refuses what cannot be: fills parallelism, vocab,
 * datatypes, optimizer and states of a plan whose model, layout and scale are set. */
enum status plan_resolve(const struct plan_request *request, struct plan *plan, struct error *err);

#endif
