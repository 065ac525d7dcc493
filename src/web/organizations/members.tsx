import { useSignal } from "@preact/signals";
import { viewer } from "../route/viewer.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { Form, TextField } from "../ui/form.js";
import { formatAmount } from "../ui/numbers.js";

export interface Member {
  readonly id: string;
  readonly username: string;
  readonly displayName: string | null;
}

interface MembersProps {
  readonly members: readonly Member[];
  readonly totalCount: number;
  /** Of what they are members. */
  readonly of: string;
  /** Undefined if the viewer may not. */
  readonly add: ((username: string) => Promise<unknown>) | undefined;
  readonly remove: ((member: Member) => Promise<unknown>) | undefined;
  readonly changed: () => void;
}

/** The members of an organization or a team. */
export function Members({ members, totalCount, of, add, remove, changed }: MembersProps) {
  const action = useAction();
  const round = useSignal(0);
  return (
    <section class="panel organization-part" aria-labelledby="members">
      <h2 id="members">Members</h2>
      <p class="soft small" role="status">
        {formatAmount(totalCount, "member")}
        {totalCount > members.length && `, of whom ${members.length} are shown`}
      </p>
      <ActionError action={action} />
      {members.length > 0 && (
        <ul class="rows" aria-label={`Members of ${of}`}>
          {members.map((member) => (
            <li key={member.id}>
              <div class="row-main">
                <span class="row-title">{member.username}</span>
                {member.displayName !== null && member.displayName !== "" && (
                  <span class="soft small">{member.displayName}</span>
                )}
              </div>
              {remove !== undefined && (
                <div class="row-actions">
                  <ConfirmButton
                    label={member.username === viewer.name ? "Leave" : "Remove"}
                    about={member.username === viewer.name ? of : `${member.username} from ${of}`}
                    act={() =>
                      void action.run(async () => {
                        await remove(member);
                        changed();
                      })
                    }
                  >
                    {member.username} no longer sees what only the members of {of} may see.
                  </ConfirmButton>
                </div>
              )}
            </li>
          ))}
        </ul>
      )}
      {add !== undefined && (
        <Form
          key={round.value}
          submitLabel="Add"
          submit={async (fields) => {
            await add(fields.get("username"));
            round.value += 1;
            changed();
          }}
        >
          <TextField label="Name of a user" name="username" />
        </Form>
      )}
    </section>
  );
}
