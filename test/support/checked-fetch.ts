// A `fetch` that checks every exchange against the API's description.
import { declaredRoutes, descriptionOf } from './api-description.js';
import { checkBy } from './described-answers.js';

const check = checkBy(descriptionOf(declaredRoutes()));

export const checkedFetch: typeof fetch = async (input, init = {}) => {
  const response = await fetch(input, init);
  const { pathname, search } = new URL(input instanceof Request ? input.url : input);
  const text = await response.clone().text();
  check({
    method: init.method ?? 'GET',
    target: pathname + search,
    sent: Object.fromEntries(new Headers(init.headers)),
    body: typeof init.body === 'string' ? init.body : null,
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text,
  });
  return response;
};
