export const GOALS = {};
