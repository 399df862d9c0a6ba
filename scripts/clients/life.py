"""One execution's life through the Python client that is generated from the served description."""

import sys

from onward_client import AuthenticatedClient
from onward_client.api.executions import executions_get, executions_history, executions_submit
from onward_client.api.operate import operate_prioritise
from onward_client.api.work import work_claim, work_complete, work_renew
from onward_client.models import (
    Acted,
    ActOutcomePrioritised,
    ClaimAnswer,
    ClaimRequest,
    CompleteRequest,
    Execution,
    History,
    NewExecution,
    Policy,
    PrioritiseRequest,
    PublicState,
    RenewAnswer,
    RenewRequest,
    ReportAnswer,
    RetryPolicy,
    SubmitAnswer,
    TransitionClaimed,
    TransitionCompleted,
    TransitionSubmitted,
)

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])


def expect(kind, found):
    assert isinstance(found, kind), found
    return found


new = NewExecution(kind="greet", input_={"name": "Ada"}, policy=Policy(retry=RetryPolicy(max_retries=2, first_pause="5s")))
submitted = expect(SubmitAnswer, executions_submit.sync(client=client, body=new))
moved = operate_prioritise.sync(submitted.id, client=client, body=PrioritiseRequest(priority=7))
assert expect(ActOutcomePrioritised, expect(Acted, moved).outcome).before == 0

(work,) = expect(ClaimAnswer, work_claim.sync(client=client, body=ClaimRequest(worker="python", lease="30s"))).executions
assert (work.id, work.kind, work.input_, work.attempt) == (submitted.id, "greet", {"name": "Ada"}, 1), work
(renewed,) = expect(RenewAnswer, work_renew.sync(client=client, body=RenewRequest(leases=[work.lease]))).results
assert renewed.ok.expires_at >= work.lease_expires_at, renewed
done = work_complete.sync(client=client, body=CompleteRequest(lease=work.lease, result="Hello, Ada"))
assert expect(ReportAnswer, done).ended

execution = expect(Execution, executions_get.sync(submitted.id, client=client))
assert execution.state == PublicState.COMPLETED and execution.priority == 7, execution
assert execution.policy.retry.first_pause == 5000, execution.policy
history = expect(History, executions_history.sync(submitted.id, client=client)).transitions
assert isinstance(history[0], TransitionSubmitted) and history[0].kind == "greet", history
claimed = next(one for one in history if isinstance(one, TransitionClaimed))
assert (claimed.type_.value, claimed.attempt, claimed.worker) == ("claimed", 1, "python"), claimed
assert isinstance(history[-1], TransitionCompleted), history
print(f"python: {submitted.id} lived through {len(history)} transitions")
