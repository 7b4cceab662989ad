/* Any bytes as a mission file: an error or a plan, and a plan that is shown reads as the same plan. */
#include <stdlib.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "missions/mission.h"
#include "plan/plan.h"
#include "tests/fuzz/fuzz.h"

static struct pdk_plan *load(const char *text, size_t len)
{
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_BUF struct pdk_buf said = PDK_BUF_INIT;
    struct pdk_mission_source source = { .path = "fuzz", .text = text, .len = len };
    struct pdk_plan *plan = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_mission_load(&source, NULL, &plan, &diags, &err) == 0 && !plan)
        abort();
    pdk_diags_print(&diags, &said);
    return plan;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = load((const char *)data, size);
    PDK_AUTO_BUF struct pdk_buf shown = PDK_BUF_INIT;

    if (!plan)
        return 0;
    if (pdk_plan_show(plan, &shown, NULL) < 0)
        abort();
    PDK_AUTO_PLAN struct pdk_plan *again = load(pdk_buf_str(&shown), shown.len);
    PDK_AUTO_JSON struct pdk_json *first = pdk_plan_json(plan);
    PDK_AUTO_JSON struct pdk_json *second = again ? pdk_plan_json(again) : NULL;
    if (shown.len <= PDK_MISSION_MAX_BYTES && !pdk_json_equal(first, second))
        abort();
    return 0;
}
