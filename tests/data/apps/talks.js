import {createApp, h, ref, watchEffect} from 'vue';
import {createRouter, createWebHistory, RouterLink, RouterView} from 'vue-router';

const Talks = {
  setup() {
    const talks = ref([]);
    fetch('/api/talks.json').then(answer => answer.json()).then(list => { talks.value = list; });
    return () => h('main', [
      h('h1', 'Talks'),
      h('ul', talks.value.map(talk => h('li', {key: talk.id}, h(RouterLink, {to: `/talk/${talk.id}`}, () => talk.title)))),
    ]);
  },
};
const Talk = {
  props: ['id'],
  setup(props) {
    const talk = ref(null);
    watchEffect(async () => { talk.value = await (await fetch(`/api/talk/${props.id}.json`)).json(); });
    return () => talk.value && h('article', [
      h('h1', talk.value.title), h('p', talk.value.summary), h(RouterLink, {to: '/'}, () => 'All talks'),
    ]);
  },
};
const router = createRouter({
  history: createWebHistory(),
  routes: [{path: '/', component: Talks}, {path: '/talk/:id', component: Talk, props: true}],
});
router.afterEach(to => { document.title = to.path === '/' ? 'Talks' : `Talk ${to.params.id}`; });
createApp({render: () => h(RouterView)}).use(router).mount('#app');
