/** Name under which rows of supervisors lie in the Store: servers, commands, the plan. No domain can be named so. */
export const NODES_SPACE = '$nodes';
