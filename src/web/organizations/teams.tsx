import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { navigate } from "../route/router.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { CreateForm, TextField } from "../ui/form.js";
import { formatAmount } from "../ui/numbers.js";
import { Found, State } from "../ui/states.js";
import { Members, type Member } from "./members.js";

const shownMax = 500;

const teamsQuery = `query Teams {
  teams(first: ${shownMax}, includeChildTeams: true) {
    totalCount
    nodes { id name displayName members(first: 1) { totalCount } }
  }
}`;
const createMutation = `mutation CreateTeam($name: String!, $displayName: String) {
  createTeam(name: $name, displayName: $displayName) { id }
}`;

export function TeamList() {
  const used = useGraphql("Teams", teamsQuery, {});
  return (
    <>
      <h1>Teams</h1>
      <details>
        <summary>Create a team</summary>
        <CreateForm
          submitLabel="Create the team"
          submit={async (fields) => {
            const displayName = fields.get("displayName");
            await graphql("CreateTeam", createMutation, {
              name: fields.get("name"),
              displayName: displayName === "" ? null : displayName,
            });
            used.retry();
          }}
        >
          <TextField label="Name" name="name" hint="Letters, digits, hyphens and dots." />
          <TextField label="Display name" name="displayName" isOptional />
        </CreateForm>
      </details>
      <Found used={used} what="the teams">
        {({ teams }) => (
          <>
            <p class="soft small" role="status">
              {formatAmount(teams.totalCount, "team")}
            </p>
            {teams.nodes.length > 0 && (
              <ul class="rows panel" aria-label="Teams">
                {teams.nodes.map(({ id, name, displayName, members }) => (
                  <li key={id}>
                    <div class="row-main">
                      <span class="row-title">
                        <a href={`/teams/${encodeURIComponent(name)}`}>{name}</a>
                      </span>
                      <span class="soft small">
                        {displayName !== null && displayName !== "" && `${displayName} · `}
                        {formatAmount(members.totalCount, "member")}
                      </span>
                    </div>
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </Found>
    </>
  );
}

const teamQuery = `query Team($name: String!) {
  team(name: $name) {
    id name displayName viewerCanAdminister
    parentTeam { name }
    childTeams(first: ${shownMax}) { nodes { name } }
    members(first: ${shownMax}) { totalCount nodes { id ... on User { username displayName } } }
  }
}`;
const addMutation = `mutation AddTeamMember($team: ID!, $username: String!) {
  addTeamMembers(team: $team, members: [{ username: $username }]) { id }
}`;
const removeMutation = `mutation RemoveTeamMember($team: ID!, $user: ID!) {
  removeTeamMembers(team: $team, members: [{ userID: $user }]) { id }
}`;
const deleteMutation = "mutation DeleteTeam($team: ID!) { deleteTeam(id: $team) { alwaysNil } }";

export function TeamView({ name }: { readonly name: string }) {
  const used = useGraphql("Team", teamQuery, { name });
  const action = useAction();
  return (
    <Found used={used} what="the team">
      {({ team }, retry) => {
        if (team === null) return <State title="There is no such team" />;
        const { id, displayName, viewerCanAdminister, parentTeam, childTeams, members } = team;
        const add = (username: string): Promise<unknown> =>
          graphql("AddTeamMember", addMutation, { team: id, username });
        const remove = (member: Member): Promise<unknown> =>
          graphql("RemoveTeamMember", removeMutation, { team: id, user: member.id });
        return (
          <>
            <h1>{team.name}</h1>
            {displayName !== null && displayName !== "" && <p>{displayName}</p>}
            <p class="soft">
              <a href="/teams">All teams</a>
              {parentTeam !== null && (
                <>
                  {" "}
                  · part of <a href={`/teams/${encodeURIComponent(parentTeam.name)}`}>{parentTeam.name}</a>
                </>
              )}
              {childTeams.nodes.map((child) => (
                <>
                  {" "}
                  · has <a href={`/teams/${encodeURIComponent(child.name)}`}>{child.name}</a>
                </>
              ))}
            </p>
            <Members
              members={members.nodes}
              totalCount={members.totalCount}
              of={team.name}
              add={viewerCanAdminister ? add : undefined}
              remove={viewerCanAdminister ? remove : undefined}
              changed={retry}
            />
            <ActionError action={action} />
            {viewerCanAdminister && (
              <p>
                <ConfirmButton
                  isFinal
                  label="Delete"
                  about={team.name}
                  act={() =>
                    void action.run(async () => {
                      await graphql("DeleteTeam", deleteMutation, { team: id });
                      navigate("/teams");
                    })
                  }
                >
                  A team that has child teams stays. This cannot be undone.
                </ConfirmButton>
              </p>
            )}
          </>
        );
      }}
    </Found>
  );
}
